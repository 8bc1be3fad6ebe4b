/*
 * size_sentences.h
 *	  Who a process is, how large it is and of what, and since when it grows.
 *
 * Each of these adds lines.  Never called inside palloc.
 */
#pragma once

#include "judge/account.h"
#include "judge/course.h"
#include "telling/explained_process.h"
#include "telling/sentences.h"

extern void plh_size_sentences_say_who(PlhSaid *said, const PlhExplainedProcess *process);

/*
 * When something was, from the end of a process that is gone, or from the time when a dump was
 * written.
 */
extern const char *plh_size_sentences_ago(const PlhExplainedProcess *process, TimestampTz at);

/* These two are on a process that has a profile. */
extern void plh_size_sentences_say_parts(PlhSaid *said, const PlhExplainedProcess *process,
										 const PlhAccount *account);
extern void plh_size_sentences_say_course(PlhSaid *said, const PlhExplainedProcess *process,
										  const PlhCourse *course);

/* What contexts of a kind hold, as within a list: "80 MB in TopMemoryContext". */
extern char *plh_size_sentences_kind(const PlhFamilyAccount *family,
									 const PlhProfileImage *image);
