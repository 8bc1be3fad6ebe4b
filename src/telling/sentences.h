/*
 * sentences.h
 *	  Sentences on a process, a line each, and the words in them that depend on
 *	  whether the process is alive.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SENTENCES_H
#define PLH_SENTENCES_H

#include "lib/stringinfo.h"
#include "telling/explained_process.h"

extern void plh_sentences_add(StringInfo text, const char *format,...) pg_attribute_printf(2, 3);

/* These two are on a process that has a profile. */
extern const char *plh_sentences_ago(const PlhExplainedProcess *process);
extern const char *plh_sentences_tense(const PlhExplainedProcess *process,
									   const char *now, const char *past);

#endif							/* PLH_SENTENCES_H */
