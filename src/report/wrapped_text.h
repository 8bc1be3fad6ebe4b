/*
 * wrapped_text.h
 *	  A text in lines of a width, as psql's columns take them.
 *
 * psql fills all values of a column up to its widest line, and breaks none at word ends.  The text
 * must be in the database's encoding.  Never called inside palloc.
 */
#pragma once

/*
 * Returns a palloc'd text in lines of at most that many columns of a terminal, broken at blanks,
 * and within words that are longer.  Line breaks of the text stay.  If it takes more lines than
 * that, the last one ends with dots; 0 is no limit.
 */
extern char *plh_wrapped_text(const char *text, int columns, int most_lines);

/*
 * The same of a statement, which means what it has meant: it is broken where there are blanks
 * between tokens, and nowhere else.  So a line may be longer.
 */
extern char *plh_wrapped_text_statement(const char *text, int columns);
