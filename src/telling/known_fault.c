/*
 * known_fault.c
 *	  Faults of PostgreSQL's minor releases that take memory.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "telling/known_fault.h"

/*
 * A transaction's invalidations are handed on to all others that are being decoded.  The first
 * releases that did so handed them on again from these, so that they doubled with each transaction.
 */
static const struct
{
	PlhPhase	phase;
	int			release;		/* as in server_version_num */
	const char *fixed;			/* the release that has it fixed */
}			faults[] = {
	{PLH_PHASE_DECODING_CATALOGS, 150013, "15.14"},
	{PLH_PHASE_DECODING_CATALOGS, 160009, "16.10"},
	{PLH_PHASE_DECODING_CATALOGS, 170005, "17.6"}
};

void
plh_known_fault_say(PlhSaid *said, PlhPhase phase)
{
	const char *text = GetConfigOption("server_version_num", true, false);
	int			release = text == NULL ? 0 : atoi(text);

	for (int i = 0; i < lengthof(faults); i++)
		if (faults[i].phase == phase && faults[i].release == release)
			PLH_SAY(said, true, known_fault,.name = faults[i].fixed);
}
