/*
 * process_kind.c
 *	  What kind of process it is, as far as advice depends on that.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "judge/process_kind.h"

PlhProcessKind
plh_process_kind(const PlhProfileHeader *header)
{
	switch (header->backend_type)
	{
		case B_BACKEND:
			return PLH_PROCESS_SESSION;
		case B_BG_WORKER:
			return strcmp(header->label, "parallel worker") == 0 ?
				PLH_PROCESS_PARALLEL_WORKER : PLH_PROCESS_BACKGROUND_WORKER;
		case B_AUTOVAC_WORKER:
			return PLH_PROCESS_AUTOVACUUM_WORKER;
		case B_WAL_SENDER:
			return PLH_PROCESS_WALSENDER;
		default:
			return PLH_PROCESS_OTHER;
	}
}

const char *
plh_process_kind_noun(const PlhProfileImage *image)
{
	static const char *const nouns[] = {
		"session", "background worker", "parallel worker", "autovacuum worker",
		"walsender", "process"
	};

	return nouns[plh_process_kind(image->header)];
}
