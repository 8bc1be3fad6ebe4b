(() => {
// The script of the page.  Its files are parts of one function, in the order of the
// Makefile.  All that comes from the server is shown as text: nothing is made markup.
'use strict';

