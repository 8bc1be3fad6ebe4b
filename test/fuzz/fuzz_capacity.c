/*
 * fuzz_capacity.c
 *	  The record of capacity with anything in it, as a server finds it when it starts.
 *
 * An input is the contents of the file, to which a foot with the right checksum is added.  Unless
 * its magic ends with UNCHANGED, magic, layout, cluster and number of kinds are made those that a
 * reader accepts.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/limits.h"
#include "fuzz.h"
#include "judge/capacity.h"
#include "judge/capacity_looks.h"
#include "reader/capacity_file.h"

#define CLUSTER UINT64CONST(530)
#define UNCHANGED 'u'
#define MB INT64CONST(1048576)

static PlhCapacityRecord record;

static void
make_acceptable(PlhCapacityRecord *file, Size bytes)
{
	if (bytes < PLH_CAPACITY_BYTES(0) || file->magic[sizeof(file->magic) - 1] == UNCHANGED)
		return;
	memcpy(file->magic, PLH_CAPACITY_MAGIC, sizeof(file->magic));
	file->layout_version = PLH_CAPACITY_LAYOUT;
	file->kind_bytes = sizeof(PlhCapacityKind);
	file->system_identifier = CLUSTER;
	file->kind_count = (bytes - PLH_CAPACITY_BYTES(0)) / sizeof(PlhCapacityKind);
}

static void
check_connections(PlhCapacityConnections connections)
{
	HOLDS(connections.count >= 0 && connections.count <= PLH_CAPACITY_MOST);
	HOLDS(connections.low >= 0 && connections.low <= PLH_CAPACITY_MOST);
	HOLDS(connections.high >= 0 && connections.high <= PLH_CAPACITY_MOST);
	HOLDS(connections.statements_bytes >= 0);
}

/* Compute all that is computed of a record. */
static void
judge(void)
{
	static const PlhCapacityRoom rooms[] = {{-1, 0}, {0, 0}, {INT64CONST(1) << 40, MB}};

	for (int i = 0; i < lengthof(rooms); i++)
	{
		check_connections(plh_capacity_of_all(&record, &rooms[i]));
		for (uint32 k = 0; k < record.kind_count; k++)
			check_connections(plh_capacity_of_kind(&record.kinds[k], &rooms[i]));
	}
	HOLDS(plh_capacity_growth_of_all(&record).bytes >= 0);
	for (uint32 k = 0; k < record.kind_count; k++)
	{
		const PlhCapacityKind *kind = &record.kinds[k];

		HOLDS(plh_capacity_growth(kind).bytes >= 0);
		HOLDS(plh_capacity_growth(kind).error_bytes >= 0);
		HOLDS(plh_capacity_mean_until(kind, 60000000) >= -1);
		HOLDS(plh_capacity_sessions_now(kind) >= 0);
		HOLDS(plh_capacity_saved(kind, 60000000) >= -1);
	}
}

/* The next server goes on from it: the same sessions, and one of a new kind. */
static void
go_on(void)
{
	PlhCapacitySession session = {
		.age_us = 90000000,.session_bytes = 5 * MB,.statement_bytes = MB,.is_active = true
	};

	plh_capacity_looks_end_all(&record);
	for (int look = 0; look < 3; look++)
	{
		session.kind = plh_capacity_looks_kind(&record, 10, "another", record.last_at + 1);
		HOLDS(session.kind < (int) record.kind_count && session.kind >= PLH_CAPACITY_NO_KIND);
		plh_capacity_looks_add(&record, &session, 1, record.last_at + 1, 5000000);
	}
	plh_capacity_looks_leave(&record, &session);
}

static void
use_record(void *arg)
{
	const char *problem;
	char	   *path = arg;

	if (!plh_capacity_file_read(path, CLUSTER, &record, &problem) || problem != NULL)
		return;
	fuzz_accepted++;
	judge();
	go_on();
	judge();
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	PlhCapacityRecord *file = malloc(Max(bytes, sizeof(PlhCapacityRecord)));
	char		path[PLH_PATH_MAX];
	char		temporary[PLH_PATH_MAX];

	memcpy(file, data, bytes);
	make_acceptable(file, bytes);
	plh_capacity_file_path(path, fuzz_directory(), CLUSTER, "");
	plh_capacity_file_path(temporary, fuzz_directory(), CLUSTER, PLH_CAPACITY_NEW);
	HOLDS(plh_summed_file_write(path, temporary, PLH_CAPACITY_MAGIC, file, bytes, false) == 0);
	free(file);
	HOLDS(fuzz_run(bytes, use_record, path) == 0);
	unlink(path);
	return 0;
}
