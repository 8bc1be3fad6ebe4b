/*
 * process_kind.h
 *	  What kind of process it is, as far as advice depends on that.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"

typedef enum PlhProcessKind
{
	PLH_PROCESS_SESSION,
	PLH_PROCESS_BACKGROUND_WORKER,	/* of an extension, or logical replication */
	PLH_PROCESS_PARALLEL_WORKER,
	PLH_PROCESS_AUTOVACUUM_WORKER,
	PLH_PROCESS_WALSENDER,
	PLH_PROCESS_OTHER
} PlhProcessKind;

extern PlhProcessKind plh_process_kind(const PlhProfileHeader *header);

/* What a process is called that has clients, or has none. */
extern const char *plh_process_kind_noun(const PlhProfileImage *image);
