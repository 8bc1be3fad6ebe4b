/*
 * capacity_file.c
 *	  The file of capacity: where it is, and whether what it says can be.
 */
#include "postgres.h"

#include <math.h>

#include "base/limits.h"
#include "reader/capacity_file.h"

/*
 * No count is larger, no size in bytes, no age in microseconds, and no sum of squares: what is
 * computed of them does not overflow.
 */
#define COUNT_MOST INT64CONST(1000000000000)
#define EACH_MOST (INT64CONST(1) << 50)
#define SQUARES_MOST 1e60

void
plh_capacity_file_path(char *path, const char *directory, uint64 cluster, const char *suffix)
{
	snprintf(path, PLH_PATH_MAX, "%s/capacity.%llu%s", directory, (unsigned long long) cluster,
			 suffix);
}

static bool
is_count(int64 count)
{
	return count >= 0 && count <= COUNT_MOST;
}

static bool
is_size(int64 bytes)
{
	return bytes >= 0 && bytes <= EACH_MOST;
}

/* Are these sums of no more than "most" each? */
static bool
are_sums(const double *sums, int count, double most)
{
	for (int i = 0; i < count; i++)
		if (!(sums[i] >= 0 && sums[i] <= most))
			return false;
	return true;
}

static bool
is_point(const PlhCapacityPoint *point)
{
	const double sums[] = {point->age_us, point->bytes, point->counted_bytes};
	double		most = (double) EACH_MOST * point->sessions;

	return is_count(point->sessions) && is_count(point->counted) &&
		point->counted <= point->sessions && are_sums(sums, lengthof(sums), most) &&
		are_sums(&point->bytes_squares, 1, SQUARES_MOST) &&
		are_sums(point->parts, PLH_CAPACITY_PARTS, most);
}

static bool
is_together(const PlhCapacityTogether *together)
{
	const double squares[] = {
		together->sessions_squares, together->bytes_squares, together->bytes_sessions,
		together->session_squares
	};
	const double counts[] = {together->sessions, together->active};

	return is_count(together->looks) &&
		are_sums(counts, lengthof(counts), (double) COUNT_MOST * COUNT_MOST) &&
		are_sums(squares, lengthof(squares), SQUARES_MOST) &&
		are_sums(&together->bytes, 1, (double) EACH_MOST * together->sessions) &&
		is_size(together->most_bytes) && is_count(together->most_sessions) &&
		is_count(together->most_active) && is_count(together->active_most) &&
		is_count(together->sessions_most) && is_size(together->largest_bytes) &&
		(together->most_at == 0 || IS_VALID_TIMESTAMP(together->most_at));
}

static bool
is_kind(const PlhCapacityKind *kind)
{
	bool		sound = memchr(kind->application, '\0', sizeof(kind->application)) != NULL &&
		IS_VALID_TIMESTAMP(kind->first_at) && IS_VALID_TIMESTAMP(kind->last_at) &&
		is_count(kind->sessions_seen) && is_together(&kind->together);

	for (int age = 0; age < PLH_CAPACITY_AGES && sound; age++)
		sound = is_count(kind->age_looks[age]) && is_point(&kind->past[age]) &&
			is_point(&kind->now[age]);
	return sound;
}

/* Can the figures be? */
static bool
is_sound(const PlhCapacityRecord *record)
{
	bool		sound = IS_VALID_TIMESTAMP(record->since) && IS_VALID_TIMESTAMP(record->last_at) &&
		is_size(record->watched_us) && is_count(record->looks) &&
		is_count(record->forgotten_kinds) && is_count(record->unnoted_sessions) &&
		is_together(&record->together);

	for (uint32 i = 0; i < record->kind_count && sound; i++)
		sound = is_kind(&record->kinds[i]);
	return sound;
}

const char *
plh_capacity_file_problem(const PlhCapacityRecord *record, Size bytes, uint64 cluster)
{
	if (memcmp(record->magic, PLH_CAPACITY_MAGIC, sizeof(record->magic)) != 0)
		return "It is no file of capacity.";
	if (record->layout_version != PLH_CAPACITY_LAYOUT ||
		record->kind_bytes != sizeof(PlhCapacityKind))
		return "Another version of pg_leakhunt has written it.";
	if (record->system_identifier != cluster)
		return "It is of another database cluster.";
	if (record->kind_count > PLH_CAPACITY_KINDS || bytes != PLH_CAPACITY_BYTES(record->kind_count))
		return "It has not the size that it says.";
	return is_sound(record) ? NULL : "Some of its figures cannot be.";
}

bool
plh_capacity_file_read(const char *path, uint64 cluster, PlhCapacityRecord *record,
					   const char **problem)
{
	PlhSummedFile file;

	*problem = NULL;
	if (!plh_summed_file_read(path, PLH_CAPACITY_MAGIC, PLH_CAPACITY_BYTES(0),
							  PLH_CAPACITY_BYTES(PLH_CAPACITY_KINDS), &file))
		return false;
	*problem = file.problem != NULL ? file.problem :
		plh_capacity_file_problem(file.contents, file.bytes, cluster);
	if (*problem == NULL)
	{
		memset(record, 0, sizeof(*record));
		memcpy(record, file.contents, file.bytes);
	}
	if (file.contents != NULL)
		pfree(file.contents);
	return true;
}

int
plh_capacity_file_write(const char *directory, const PlhCapacityRecord *record, bool lasts)
{
	char		path[PLH_PATH_MAX];
	char		temporary[PLH_PATH_MAX];

	plh_capacity_file_path(path, directory, record->system_identifier, "");
	plh_capacity_file_path(temporary, directory, record->system_identifier, PLH_CAPACITY_NEW);
	return plh_summed_file_write(path, temporary, PLH_CAPACITY_MAGIC, record,
								 PLH_CAPACITY_BYTES(record->kind_count), lasts);
}
