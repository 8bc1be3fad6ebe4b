/*
 * page_server.h
 *	  What the page of the server says: one document of JSON.
 *
 * Processes are added one by one, as none of their images lasts.  Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "reader/statement_list.h"
#include "telling/server_summary.h"

typedef struct PlhPageServer PlhPageServer;

/*
 * Begin the page of about so many processes as of "now", in the current memory context, which what
 * is added is copied to.
 */
extern PlhPageServer *plh_page_server_begin(int processes, TimestampTz now);

extern void plh_page_server_add(PlhPageServer *server, const PlhExplainedProcess *process,
								const PlhExplanation *explanation);

/*
 * The words on the server as a whole; after all processes were added.  "account" is as in
 * telling/server_summary.h, and lasts as long as the page.
 */
extern const char *plh_page_server_words(PlhPageServer *server, PlhServerAccount *account);

/*
 * The document; of more words on single processes than fit into "most_bytes", those on the smallest
 * are left out.
 */
extern void plh_page_server_append(StringInfo json, PlhPageServer *server,
								   const PlhStatementList *statements,
								   PlhSymbols *symbols, Size most_bytes);
