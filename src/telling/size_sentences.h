/*
 * size_sentences.h
 *	  Who a process is, how large it is and of what, and since when it grows: the
 *	  first sentences of an explanation.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SIZE_SENTENCES_H
#define PLH_SIZE_SENTENCES_H

#include "judge/account.h"
#include "judge/course.h"
#include "lib/stringinfo.h"
#include "telling/explained_process.h"

extern int64 plh_size_sentences_own_bytes(const PlhExplainedProcess *process);
extern void plh_size_sentences_add_who(StringInfo text,
									   const PlhExplainedProcess *process);

/* These two are on a process that has a profile, and the last needs a history. */
extern void plh_size_sentences_add_parts(StringInfo text,
										 const PlhExplainedProcess *process,
										 const PlhAccount *account);
extern void plh_size_sentences_add_course(StringInfo text,
										  const PlhExplainedProcess *process,
										  const PlhCourse *course);

#endif							/* PLH_SIZE_SENTENCES_H */
