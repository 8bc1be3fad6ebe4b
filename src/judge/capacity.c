/*
 * capacity.c
 *	  How many connections a host bears, by what sessions have grown to and what their statements
 *	  have taken at the same moment.
 *
 * Sessions are taken to be as old as those that were seen.  What their statements take together is
 * no sum of peaks: the bytes of all statements of one look are one figure, of which there are a
 * mean and a variance.  Of N sessions that do not wait for each other the variance is N times that
 * of one.  What it has beyond that, if it is more than its error, is of statements that begin at
 * the same time, and goes with the square of N.  A look sees a moment of many: so the most is no
 * less than some standard deviations above the mean, even where no look has met it.
 */
#include "postgres.h"

#include <math.h>

#include "judge/capacity.h"

/* A session has grown once it has that part of what it grows to. */
#define GROWN_PART 0.95

/* Standard deviations: of a 95% bound, and of a moment that is one of some 30,000. */
#define ERROR_DEVIATIONS 2.0
#define MOMENT_DEVIATIONS 4.0

/* What variances of two samples of so many looks differ by, at most: that part of them. */
#define VARIANCE_ERROR(looks) (ERROR_DEVIATIONS * sqrt(2.0 / (looks)))

/* An age counts if, of all sessions of all looks, one of so many was as old, or older. */
#define AGE_PART 10

/* What the sessions of one age kept on average. */
typedef struct Mean
{
	double		sessions;
	double		age_us;
	double		bytes;
	double		error;			/* standard error of that */
	PlhCapacityPoint sum;
} Mean;

static Mean
mean_at(const PlhCapacityKind *kind, int age)
{
	const PlhCapacityPoint *past = &kind->past[age];
	const PlhCapacityPoint *now = &kind->now[age];
	Mean		mean = {.sum = *past};
	double		variance;

	mean.sum.sessions += now->sessions;
	mean.sum.counted += now->counted;
	mean.sum.counted_bytes += now->counted_bytes;
	for (int part = 0; part < PLH_CAPACITY_PARTS; part++)
		mean.sum.parts[part] += now->parts[part];
	mean.sessions = mean.sum.sessions;
	if (mean.sum.sessions == 0)
		return mean;
	mean.age_us = (past->age_us + now->age_us) / mean.sessions;
	mean.bytes = (past->bytes + now->bytes) / mean.sessions;
	variance = (past->bytes_squares + now->bytes_squares) / mean.sessions - mean.bytes * mean.bytes;
	mean.error = sqrt(Max(variance, 0.0) / Max(mean.sessions - 1.0, 1.0));
	return mean;
}

/*
 * Does an age count?  By the time that sessions had it, not by their number: of connections that
 * last for a second there may be thousands beside a pool.
 */
static bool
counts(const PlhCapacityKind *kind, int age)
{
	double		looks = 0;

	for (int older = age; older < PLH_CAPACITY_AGES; older++)
		looks += kind->age_looks[older];
	return mean_at(kind, age).sessions >= PLH_CAPACITY_LEAST_SESSIONS &&
		looks >= kind->together.sessions / AGE_PART;
}

/* The age at which sessions had most; -1: too few were seen at any. */
static int
largest_age(const PlhCapacityKind *kind, int *oldest)
{
	int			largest = -1;
	double		most = -1;

	for (int age = 0; age < PLH_CAPACITY_AGES; age++)
	{
		Mean		mean = mean_at(kind, age);

		if (!counts(kind, age))
			continue;
		*oldest = age;
		if (mean.bytes <= most)
			continue;
		most = mean.bytes;
		largest = age;
	}
	return largest;
}

/*
 * Take over the parts of an age, with what they do not tell as the rest.  What was allocated and
 * not written to takes no memory: then they are more than the whole.
 */
static void
set_parts(PlhCapacityGrowth *growth, const PlhCapacityPoint *sum)
{
	double		whole = sum->counted_bytes;
	double		told = 0;

	for (int part = 0; part < PLH_CAPACITY_PARTS; part++)
		told += sum->parts[part];
	whole = Max(whole, told);
	if (sum->counted == 0 || whole <= 0)
		return;
	growth->is_counted = true;
	growth->rest_bytes = growth->bytes;
	for (int part = 0; part < PLH_CAPACITY_PARTS; part++)
	{
		growth->parts[part] = sum->parts[part] / whole * growth->bytes;
		growth->rest_bytes -= growth->parts[part];
	}
}

PlhCapacityGrowth
plh_capacity_growth(const PlhCapacityKind *kind)
{
	PlhCapacityGrowth growth = {0};
	int			oldest = 0;
	int			largest = largest_age(kind, &oldest);
	Mean		most;
	bool		rests = false;

	if (largest < 0)
		return growth;
	most = mean_at(kind, largest);
	growth.is_known = true;
	growth.bytes = most.bytes;
	growth.error_bytes = ERROR_DEVIATIONS * most.error;
	growth.oldest_us = mean_at(kind, oldest).age_us;
	growth.within_us = most.age_us;
	for (int age = largest - 1; age >= 0; age--)
	{
		Mean		before = mean_at(kind, age);

		if (before.sessions == 0)
			continue;
		if (before.bytes < GROWN_PART * most.bytes)
			break;
		growth.within_us = before.age_us;
		rests = true;
	}
	growth.goes_on = largest == oldest && largest > 0 && !rests;
	set_parts(&growth, &most.sum);
	return growth;
}

/* What sessions have on average, with its error. */
typedef struct Each
{
	double		bytes;
	double		error;
} Each;

/* What statements take together. */
typedef struct Together
{
	double		mean;			/* for each session */
	double		own_variance;	/* of one that goes its own way */
	double		common_variance;	/* of all that go together, by the square */
	double		deviations;		/* the most is so many above the mean */
	double		mean_error;		/* 95% bound of the mean */
	double		largest;		/* of one session */
} Together;

static double
deviation_of(const Together *together, double sessions)
{
	return sqrt(sessions * together->own_variance +
				sessions * sessions * together->common_variance);
}

static Together
together_of(const PlhCapacityTogether *seen)
{
	Together	together = {.largest = seen->largest_bytes};
	double		variance;
	double		deviation;

	if (seen->sessions <= 0 || seen->looks == 0)
		return together;
	together.mean = seen->bytes / seen->sessions;
	together.own_variance = Max(0.0, seen->session_squares / seen->sessions -
								together.mean * together.mean);

	/*
	 * of what a look has beyond its share, as their numbers of sessions
	 * differ
	 */
	variance = Max(0.0, seen->bytes_squares - 2 * together.mean * seen->bytes_sessions +
				   together.mean * together.mean * seen->sessions_squares);
	together.common_variance =
		Max(0.0, variance - seen->sessions * together.own_variance *
			(1.0 + VARIANCE_ERROR(seen->looks))) / Max(seen->sessions_squares, 1.0);
	together.mean_error = ERROR_DEVIATIONS * sqrt(variance) / seen->sessions;
	deviation = deviation_of(&together, seen->most_sessions);
	together.deviations = MOMENT_DEVIATIONS;
	if (deviation > 0)
		together.deviations = Max(together.deviations,
								  (seen->most_bytes - together.mean * seen->most_sessions) /
								  deviation);
	return together;
}

/* The most that statements of so many sessions take at the same moment. */
static double
most_together(const Together *together, double sessions, int error)
{
	double		deviation = deviation_of(together, sessions);
	double		bytes = together->mean * sessions + together->deviations * deviation +
		error * (together->mean_error * sessions + deviation);

	return Max(0.0, Min(bytes, together->largest * sessions));
}

static bool
has_room(double room, const Each *each, const Together *together, int64 sessions, int error)
{
	return sessions * Max(0.0, each->bytes + error * each->error) +
		most_together(together, sessions, error) <= room;
}

/* The most sessions that have room, with figures that are by their errors smaller or larger. */
static int64
most_sessions(double room, const Each *each, const Together *together, int error)
{
	int64		has = 0;
	int64		has_not = PLH_CAPACITY_MOST + 1;

	while (has_not - has > 1)
	{
		int64		middle = has + (has_not - has) / 2;

		if (has_room(room, each, together, middle, error))
			has = middle;
		else
			has_not = middle;
	}
	return has;
}

static PlhCapacityConnections
connections(const PlhCapacityRoom *room, const Each *each, const PlhCapacityTogether *seen)
{
	PlhCapacityConnections answer = {false};
	Together	together = together_of(seen);
	Each		once = *each;

	if (room->bytes < 0 || each->bytes <= 0)
		return answer;
	once.bytes = Max(1.0, each->bytes - room->once_bytes);
	answer.is_known = true;
	answer.count = most_sessions(room->bytes, &once, &together, 0);
	answer.low = most_sessions(room->bytes, &once, &together, 1);
	answer.high = most_sessions(room->bytes, &once, &together, -1);
	answer.statements_bytes = most_together(&together, answer.count, 0);
	return answer;
}

PlhCapacityConnections
plh_capacity_of_kind(const PlhCapacityKind *kind, const PlhCapacityRoom *room)
{
	PlhCapacityGrowth growth = plh_capacity_growth(kind);
	Each		each = {growth.bytes, growth.error_bytes};

	if (!growth.is_known || kind->together.looks < PLH_CAPACITY_LEAST_LOOKS)
		return (PlhCapacityConnections)
	{
		false
	};
	return connections(room, &each, &kind->together);
}

/* What sessions of a kind have at most, however few were seen. */
static Each
each_of(const PlhCapacityKind *kind)
{
	PlhCapacityGrowth growth = plh_capacity_growth(kind);
	Each		each = {growth.bytes, growth.error_bytes};

	for (int age = 0; age < PLH_CAPACITY_AGES && !growth.is_known; age++)
	{
		Mean		mean = mean_at(kind, age);

		each.bytes = Max(each.bytes, mean.bytes);
		each.error = each.bytes;
	}
	return each;
}

PlhCapacityGrowth
plh_capacity_growth_of_all(const PlhCapacityRecord *record)
{
	PlhCapacityGrowth growth = {false};
	double		bytes = 0;
	double		variance = 0;
	double		sessions = 0;

	for (uint32 i = 0; i < record->kind_count; i++)
	{
		Each		each = each_of(&record->kinds[i]);
		double		weight = record->kinds[i].together.sessions;

		sessions += weight;
		bytes += weight * each.bytes;
		variance += weight * each.error * weight * each.error;
	}
	if (record->looks < PLH_CAPACITY_LEAST_LOOKS || sessions <= 0 ||
		record->together.sessions_most < PLH_CAPACITY_LEAST_SESSIONS)
		return growth;
	growth.is_known = true;
	growth.bytes = bytes / sessions;
	growth.error_bytes = sqrt(variance) / sessions;
	return growth;
}

PlhCapacityConnections
plh_capacity_of_all(const PlhCapacityRecord *record, const PlhCapacityRoom *room)
{
	PlhCapacityGrowth growth = plh_capacity_growth_of_all(record);
	Each		each = {growth.bytes, growth.error_bytes};

	if (!growth.is_known)
		return (PlhCapacityConnections)
	{
		false
	};
	return connections(room, &each, &record->together);
}

int64
plh_capacity_mean_until(const PlhCapacityKind *kind, int64 lifetime_us)
{
	double		from_us = 0;
	double		from_bytes = -1;
	double		area = 0;

	for (int age = 0; age < PLH_CAPACITY_AGES; age++)
	{
		Mean		mean = mean_at(kind, age);
		double		until_us;
		double		until_bytes;

		if (mean.sessions < PLH_CAPACITY_LEAST_SESSIONS || mean.age_us <= from_us)
			continue;
		if (from_bytes < 0)
			from_bytes = mean.bytes;
		until_us = Min(mean.age_us, (double) lifetime_us);
		until_bytes = from_bytes + (mean.bytes - from_bytes) *
			(until_us - from_us) / (mean.age_us - from_us);
		area += (until_us - from_us) * (from_bytes + until_bytes) / 2;
		if (until_us >= lifetime_us)
			return lifetime_us <= 0 ? -1 : area / lifetime_us;
		from_us = until_us;
		from_bytes = until_bytes;
	}
	return -1;
}

int64
plh_capacity_sessions_now(const PlhCapacityKind *kind)
{
	int64		sessions = 0;

	for (int age = 0; age < PLH_CAPACITY_AGES; age++)
		sessions += kind->now[age].sessions;
	return sessions;
}

int64
plh_capacity_saved(const PlhCapacityKind *kind, int64 lifetime_us)
{
	PlhCapacityGrowth growth = plh_capacity_growth(kind);
	int64		mean = plh_capacity_mean_until(kind, lifetime_us);

	if (!growth.is_known)
		return -1;
	if (mean < 0)
		return 0;
	return plh_capacity_sessions_now(kind) * Max(0, growth.bytes - mean);
}
