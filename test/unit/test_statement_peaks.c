/*
 * test_statement_peaks.c
 *	  When a statement is told to the file of statements, and what is told of it.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "replication/reorderbuffer.h"
#include "storage/proc.h"

#include "base/process_facts.h"
#include "profile/profile.h"
#include "profile/statement_entries.h"
#include "profile/statements_file.h"

static bool tell_stub(PlhStatementPart *part);
static int	lost;

#define plh_statement_entries_tell tell_stub
#define plh_statement_entries_is_highest(part) ((void) (part), false)
#define plh_statement_entries_count_lost() ((void) lost++)
#define GetDatabaseEncoding() PG_UTF8
#define GetOuterUserId() 10
#define MyDatabaseId 5
#define ProcGlobal ((PROC_HDR *) NULL)
#define MyProc ((PGPROC *) NULL)
#define plh_process_facts_own_bytes() ((int64) 0)
#include "sampler/statement_peaks.c"
#undef MyProc

#include "unit_tests.h"

#define MB ((int64) 1024 * 1024)

int			plh_statement_min_bytes = 1024 * 1024;

/* What was told last, how often, and whether that works. */
static PlhStatementPart told;
static int	tellings;
static bool works = true;

static bool
tell_stub(PlhStatementPart *part)
{
	told = *part;
	tellings++;
	if (works)
		part->told = part->share;
	return works;
}

/* From now on the process holds that, of which some lasts as long as the session. */
static void
hold(int64 live_bytes, int64 lasting)
{
	plh_profile->counters.live_bytes = live_bytes;
	plh_profile->counters.live_samples = live_bytes / 1000;
	plh_profile_counters_held.live_bytes[PLH_LIFETIME_SESSION] = lasting;
	plh_profile_run_note_peak(plh_profile, ++plh_profile->last_change, 1234);
	plh_statement_peaks_sampled();
}

/* A statement begins where the process holds that. */
static void
begin(int64 live_bytes, int64 lasting)
{
	plh_statement_peaks_end();
	hold(live_bytes, lasting);
	plh_statement_peaks_begin(0, 77);
	tellings = lost = 0;
}

static void
test_growth(void)
{
	begin(10 * MB, 2 * MB);
	hold(10 * MB + MB / 2, 2 * MB);
	ok(tellings == 0, "a statement that takes little is not told");
	hold(11 * MB, 2 * MB);
	ok(tellings == 1 && told.share.peak_bytes == MB && told.start == 77 && told.peak_at == 1234,
	   "one that takes as much as the setting says is told, without what was there before it");
	ok(told.allowed_bytes == 8 * MB && told.role_oid == 10 && told.database_oid == 5, "with what it is allowed, and whose it is");
	hold(11 * MB + MB / 4, 2 * MB);
	ok(tellings == 1, "not each time that it grows");
	hold(11 * MB + 3 * MB / 4, 2 * MB);
	ok(tellings == 2 && told.told.peak_bytes == MB && told.share.peak_bytes == 7 * MB / 4,
	   "but when it has grown by a half, with what was told before");
	hold(3 * MB, 5 * MB);
	plh_profile_run.private_bytes = 70 * MB;
	plh_statement_peaks_end();
	ok(tellings == 3 && told.share.private_bytes == 70 * MB && told.share.peak_bytes == 7 * MB / 4,
	   "at its end, it is told what the process had when it was counted");
	plh_statement_peaks_end();
	ok(tellings == 3, "once");
}

static void
test_transactions(void)
{
	begin(10 * MB, 0);
	hold(12 * MB, 0);
	tellings = 0;
	plh_statement_peaks_transaction_over();
	ok(tellings == 0, "where nothing is new, nothing is told at the end of its transaction");
	hold(90 * MB, 0);
	ok(tellings == 0, "what follows its transaction is not its own");
	hold(11 * MB, 0);
	plh_statement_peaks_go_on();
	hold(14 * MB, 0);
	ok(tellings == 1 && told.share.peak_bytes == 4 * MB, "if it goes on, its peak goes on, too");
	plh_statement_peaks_transaction_over();
	plh_profile_run.private_bytes = 80 * MB;
	plh_statement_peaks_end();
	ok(tellings == 2 && told.share.peak_bytes == 4 * MB && told.share.private_bytes == 80 * MB,
	   "what was counted is told with that peak");
	begin(10 * MB, 0);
	hold(12 * MB, 0);
	plh_statement_peaks_forget();
	plh_statement_peaks_end();
	ok(tellings == 1, "a forked child tells nothing of its parent's statement");
}

static void
test_loss(void)
{
	begin(10 * MB, 0);
	works = false;
	hold(12 * MB, 0);
	plh_statement_peaks_end();
	ok(tellings == 2 && lost == 1, "one that could not be told at its end is counted");
	works = true;
}

/* The settings of the server limit what a statement takes. */
static void
test_settings(void)
{
	const PlhProfileHeader *header = plh_profile;

	plh_process_memory_limit = 100 * MB;
	work_mem = 2048;
	hash_mem_multiplier = 0.5;
	plh_memory_limits_note(plh_profile);
	ok(header->sort_memory_bytes == 2 * MB && header->node_memory_bytes == 2 * MB,
	   "a node of a plan may take work_mem, whatever a hash may not");
	work_mem = 4096;
	hash_mem_multiplier = 2.0;
	logical_decoding_work_mem = 3 * 65536;
	plh_memory_limits_note(plh_profile);
	ok(header->sort_memory_bytes == 4 * MB && header->node_memory_bytes == 8 * MB, "or what a hash may");
	ok(header->maintenance_bytes == 64 * MB && header->decoding_bytes == 192 * MB &&
	   header->limit_bytes == 100 * MB, "maintenance and decoding have settings of their own");
	autovacuum_work_mem = 32 * 1024;
	plh_memory_limits_note(plh_profile);
	ok(header->maintenance_bytes == 64 * MB, "that of autovacuum is not a session's");
	MyBackendType = B_AUTOVAC_WORKER;
	plh_memory_limits_note(plh_profile);
	ok(header->maintenance_bytes == 32 * MB, "but its workers'");
	MyBackendType = B_BACKEND;
	autovacuum_work_mem = -1;
	logical_decoding_work_mem = 65536;
	plh_process_memory_limit = 0;
}

void
test_statement_peaks(void)
{
	static PlhProfileHeader header;
	static PlhStatementsFile file;
	PlhProfileHeader *profile = plh_profile;
	PlhHeld		held = plh_profile_counters_held;

	plh_profile = &header;
	plh_statements_file = &file;
	memset(&plh_profile_counters_held, 0, sizeof(plh_profile_counters_held));
	test_growth();
	test_transactions();
	test_loss();
	test_settings();
	plh_statement_peaks_forget();
	plh_profile_run = (PlhRun)
	{
		.peak_live_bytes = PG_INT64_MAX
	};
	plh_profile_counters_held = held;
	plh_statements_file = NULL;
	plh_profile = profile;
}
