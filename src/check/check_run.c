/*
 * check_run.c
 *	  What the parts of a leak check share.
 */
#include "postgres.h"

#include "utils/inval.h"

#include "check/check_run.h"
#include "profile/bounded_growth.h"
#include "profile/profile.h"
#include "profile/profile_image.h"

/*
 * Throw an ERROR for lost samples: they may be a leak, or make one look small.
 */
static void
check_nothing_lost(const PlhCheckRun *run)
{
	int64		lost = plh_profile_image_lost_samples(plh_profile) - run->lost_before;

	if (lost > 0)
		ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
						errmsg("pg_leakhunt_check could not follow all allocations"),
						errdetail("%lld of them did not fit into the profile, or were made in a critical section.",
								  (long long) lost),
						run->plan->bounded ?
						errhint("Checks by roles without privileges of \"%s\" may use %d kB of a session's profile. Run fewer iterations in a new session, or run the check as another role.",
								"pg_read_all_stats", PLH_BOUNDED_ROOM / 1024) :
						errhint("Run fewer iterations in a new session, or raise pg_leakhunt.max_live_samples and pg_leakhunt.max_profile_size.")));
}

/*
 * Get ready for a look at what is held: the catalog caches are emptied, as they are no leak.
 */
void
plh_check_run_settle(const PlhCheckRun *run)
{
	check_nothing_lost(run);
	InvalidateSystemCaches();
}
