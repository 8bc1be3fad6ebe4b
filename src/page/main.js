// What the document is of.
if (page.kind === 'server') makeServer();
else makeProcess();
