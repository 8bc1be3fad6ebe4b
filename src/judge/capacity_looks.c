/*
 * capacity_looks.c
 *	  Adds what the keeper has seen of sessions to the record of capacity.
 *
 * Each session counts once at each age, with what it kept when it was last seen at that age:
 * neither long pauses between looks nor many looks give it more weight.
 */
#include "postgres.h"

#include "judge/capacity_looks.h"

void
plh_capacity_looks_begin(PlhCapacityRecord *record, uint64 cluster, TimestampTz now)
{
	memset(record, 0, sizeof(*record));
	memcpy(record->magic, PLH_CAPACITY_MAGIC, sizeof(record->magic));
	record->layout_version = PLH_CAPACITY_LAYOUT;
	record->kind_bytes = sizeof(PlhCapacityKind);
	record->system_identifier = cluster;
	record->since = now;
	record->last_at = now;
}

static void
add_point(PlhCapacityPoint *sum, const PlhCapacityPoint *point)
{
	sum->sessions += point->sessions;
	sum->age_us += point->age_us;
	sum->bytes += point->bytes;
	sum->bytes_squares += point->bytes_squares;
	sum->counted += point->counted;
	sum->counted_bytes += point->counted_bytes;
	for (int part = 0; part < PLH_CAPACITY_PARTS; part++)
		sum->parts[part] += point->parts[part];
}

void
plh_capacity_looks_end_all(PlhCapacityRecord *record)
{
	for (uint32 i = 0; i < record->kind_count; i++)
	{
		PlhCapacityKind *kind = &record->kinds[i];

		for (int age = 0; age < PLH_CAPACITY_AGES; age++)
			add_point(&kind->past[age], &kind->now[age]);
		memset(kind->now, 0, sizeof(kind->now));
	}
}

int
plh_capacity_looks_age(int64 age_us)
{
	int			age = 0;

	while (age < PLH_CAPACITY_AGES - 1 && age_us >= PLH_CAPACITY_FIRST_US << age)
		age++;
	return age;
}

/* The place of a new kind; NULL if all were seen by this look. */
static PlhCapacityKind *
place_for(PlhCapacityRecord *record, TimestampTz now)
{
	PlhCapacityKind *oldest = &record->kinds[0];

	if (record->kind_count < PLH_CAPACITY_KINDS)
		return &record->kinds[record->kind_count++];
	for (int i = 1; i < PLH_CAPACITY_KINDS; i++)
		if (record->kinds[i].last_at < oldest->last_at)
			oldest = &record->kinds[i];
	if (oldest->last_at >= now)
		return NULL;
	record->forgotten_kinds++;
	return oldest;
}

int
plh_capacity_looks_kind(PlhCapacityRecord *record, Oid role, const char *application,
						TimestampTz now)
{
	PlhCapacityKind *kind;
	char		name[PLH_CAPACITY_NAME_BYTES];

	strlcpy(name, application, sizeof(name));
	for (uint32 i = 0; i < record->kind_count; i++)
	{
		kind = &record->kinds[i];
		if (kind->role != role || strcmp(kind->application, name) != 0)
			continue;
		kind->last_at = now;
		return i;
	}
	kind = place_for(record, now);
	if (kind == NULL)
		return PLH_CAPACITY_NO_KIND;
	memset(kind, 0, sizeof(*kind));
	kind->role = role;
	strlcpy(kind->application, name, sizeof(kind->application));
	kind->first_at = now;
	kind->last_at = now;
	return kind - record->kinds;
}

static PlhCapacityPoint
point_of(const PlhCapacitySession *session)
{
	PlhCapacityPoint point = {
		.sessions = 1,
		.age_us = session->age_us,
		.bytes = session->session_bytes,
		.bytes_squares = (double) session->session_bytes * session->session_bytes
	};

	if (!session->is_counted)
		return point;
	point.counted = 1;
	point.counted_bytes = session->session_bytes;
	for (int part = 0; part < PLH_CAPACITY_PARTS; part++)
		point.parts[part] = session->parts[part];
	return point;
}

void
plh_capacity_looks_leave(PlhCapacityRecord *record, const PlhCapacitySession *session)
{
	PlhCapacityPoint point = point_of(session);

	if (session->kind != PLH_CAPACITY_NO_KIND)
		add_point(&record->kinds[session->kind].past[plh_capacity_looks_age(session->age_us)],
				  &point);
}

void
plh_capacity_looks_follow(PlhCapacityRecord *record, const PlhCapacitySession *before,
						  const PlhCapacitySession *seen)
{
	bool		is_same = before != NULL && before->kind == seen->kind;

	/*
	 * A statement that could not be told apart is nothing that sessions of
	 * that age keep.
	 */
	if (before != NULL && before->is_told_apart &&
		(!is_same || plh_capacity_looks_age(before->age_us) !=
		 plh_capacity_looks_age(seen->age_us)))
		plh_capacity_looks_leave(record, before);
	if (!is_same && seen->kind != PLH_CAPACITY_NO_KIND)
		record->kinds[seen->kind].sessions_seen++;
}

/* What the sessions of one kind, or all, have at one look. */
typedef struct Look
{
	int64		sessions;
	int64		active;
	int64		bytes;
	double		session_squares;
	int64		largest_bytes;
} Look;

static void
add_session(Look *look, const PlhCapacitySession *session)
{
	look->sessions++;
	look->active += session->is_active;
	look->bytes += session->statement_bytes;
	look->session_squares += (double) session->statement_bytes * session->statement_bytes;
	look->largest_bytes = Max(look->largest_bytes, session->statement_bytes);
}

static void
add_look(PlhCapacityTogether *together, const Look *look, TimestampTz now)
{
	double		sessions = look->sessions;
	double		bytes = look->bytes;

	if (look->sessions == 0)
		return;
	together->looks++;
	together->sessions += sessions;
	together->sessions_squares += sessions * sessions;
	together->active += look->active;
	together->bytes += bytes;
	together->bytes_squares += bytes * bytes;
	together->bytes_sessions += bytes * sessions;
	together->session_squares += look->session_squares;
	together->active_most = Max(together->active_most, look->active);
	together->sessions_most = Max(together->sessions_most, look->sessions);
	together->largest_bytes = Max(together->largest_bytes, look->largest_bytes);
	if (together->most_at != 0 && look->bytes <= together->most_bytes)
		return;
	together->most_bytes = look->bytes;
	together->most_sessions = look->sessions;
	together->most_active = look->active;
	together->most_at = now;
}

void
plh_capacity_looks_add(PlhCapacityRecord *record, const PlhCapacitySession *sessions, int count,
					   TimestampTz now, int64 passed_us)
{
	Look		all = {0};
	Look		looks[PLH_CAPACITY_KINDS] = {{0}};

	for (uint32 i = 0; i < record->kind_count; i++)
		memset(record->kinds[i].now, 0, sizeof(record->kinds[i].now));
	for (int i = 0; i < count; i++)
	{
		const PlhCapacitySession *session = &sessions[i];
		PlhCapacityPoint point = point_of(session);
		int			age = plh_capacity_looks_age(session->age_us);

		add_session(&all, session);
		if (session->kind == PLH_CAPACITY_NO_KIND)
		{
			record->unnoted_sessions++;
			continue;
		}
		add_session(&looks[session->kind], session);
		add_point(&record->kinds[session->kind].now[age], &point);
		record->kinds[session->kind].age_looks[age]++;
	}
	add_look(&record->together, &all, now);
	for (uint32 i = 0; i < record->kind_count; i++)
		add_look(&record->kinds[i].together, &looks[i], now);
	record->looks++;
	record->watched_us += passed_us;
	record->last_at = now;
}
