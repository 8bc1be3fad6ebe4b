/*
 * scenario_server.h
 *	  The server around the process of a scenario: who looks at it, the keeper, and the
 *	  log.
 */
#ifndef SCENARIO_SERVER_H
#define SCENARIO_SERVER_H

#include "profile/profile_image.h"
#include "sampler/process_limit.h"
#include "scenario_words.h"
#include "telling/suppression.h"

/* The role of the process, and its name's OID. */
#define SCENARIO_ROLE 10

/* Returns false if the word is no command for the server. */
extern bool scenario_server_do(const char *command, Words *words);

/* Time passes; the keeper looks every ten seconds, if it does at all. */
extern void scenario_server_wait(int64 us);

/* The process tells the log of an excess; without one, that it exits. */
extern void scenario_server_log_by(PlhLimitReporter report, const PlhLimitExcess *excess);

/* Some has passed: let the keeper look if it is time for that. */
extern void scenario_server_keep(void);

/* Between these, memory contexts are those of the session that looks. */
extern void scenario_server_begin_look(void);
extern void scenario_server_end_look(void);
extern void scenario_server_have_counted(void);

/* The process as it was when the last look began. */
extern PlhProfileImage scenario_image;

extern PlhSuppressions scenario_suppressions;

/* Leave no files. */
extern void scenario_server_end(void);

/* What the log has got since this was called. */
extern const char *scenario_server_log(void);

#endif							/* SCENARIO_SERVER_H */
