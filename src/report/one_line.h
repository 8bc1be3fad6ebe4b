/*
 * one_line.h
 *	  A text in one line.
 *
 * Never called inside palloc.
 */
#pragma once

/*
 * Returns a palloc'd text in one line of that many characters at most, with its white space as
 * single blanks, and dots where it was cut.
 */
extern char *plh_one_line(const char *text, int columns);
