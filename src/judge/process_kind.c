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
			return PLH_KIND_SESSION;
		case B_BG_WORKER:
			return strcmp(header->label, "parallel worker") == 0 ?
				PLH_KIND_PARALLEL_WORKER : PLH_KIND_BACKGROUND_WORKER;
		case B_AUTOVAC_WORKER:
			return PLH_KIND_AUTOVACUUM_WORKER;
		case B_WAL_SENDER:
			return PLH_KIND_WALSENDER;
		default:
			return PLH_KIND_OTHER;
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
