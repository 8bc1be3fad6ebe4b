/*
 * scenario_process.c
 *	  The process of a scenario: its settings, transactions, statements and time.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "replication/reorderbuffer.h"

#include "base/guard.h"
#include "base/settings.h"
#include "other_processes.h"
#include "profile/profile.h"
#include "sampler/owner.h"
#include "scenario_limits.h"
#include "scenario_portals.h"
#include "scenario_process.h"
#include "scenario_server.h"
#include "server.h"
#include "server_limits.h"
#include "simulated.h"
#include "statement_runs.h"

ScenarioProcess scenario_process = {
	.username = "alice",.database = "shop",.application = "psql"
};

/* What a process is like where a scenario does not say. */
static Ways ways = {
	.interval = 512 * 1024,.us_per_mb = 1000,.publishes_late = true
};
static uint64 seed = 1;
static uint32 scope = PLH_SCOPE_ALL;
static int	limit_action = PLH_LIMIT_LOG;
static PlhAllocator allocator = PLH_ALLOCATOR_GLIBC;
static bool tracks_malloc;
static bool has_begun;
static bool in_transaction;
static bool runs_statement;

/* The OID of the role of that name: the first one is SCENARIO_ROLE. */
static Oid
role_of(const char *name)
{
	static char names[8][NAMEDATALEN];
	static int	count;
	int			number = 0;

	while (number < count && strcmp(names[number], name) != 0)
		number++;
	if (number == lengthof(names))
		abort();
	if (number == count)
		strlcpy(names[count++], name, NAMEDATALEN);
	return SCENARIO_ROLE + number;
}

/* What the session does, from now on. */
static void
set_state(const char *state)
{
	server_state = state;
	server_activity.state_since = simulated_time();
}

/* Bring the header up to date, as upkeep does. */
static void
note_settings(void)
{
	if (!has_begun)
		return;
	simulated_set_ways(&ways);
	plh_limit_action = limit_action;
	plh_owner_interval = ways.interval;
	plh_profile->sample_interval = ways.interval;
	plh_profile->scope = scope;
	malloc_is_of(allocator);
	plh_profile->malloc_tracked = tracks_malloc;
	plh_profile->database_oid = MyDatabaseId;
	plh_profile->role_oid = role_of(scenario_process.username);
	server_activity.backend_type = "client backend";
	server_activity.role_oid = plh_profile->role_oid;
	server_activity.database_oid = MyDatabaseId;
	server_activity.application_name = scenario_process.application;
	strlcpy(plh_profile->role, scenario_process.username, PLH_NAME_MAX);
	strlcpy(plh_profile->database, scenario_process.database, PLH_NAME_MAX);
	strlcpy(plh_profile->application_name, scenario_process.application, PLH_NAME_MAX);
}

void
scenario_process_begin(void)
{
	int64		passed_us = simulated_now_us();

	if (has_begun)
		return;
	has_begun = true;
	plh_guard_held = true;
	simulated_begin(seed, &ways);
	simulated_wait(passed_us);
	plh_profile->started_at = simulated_time();
	plh_profile->pid = MyProcPid;
	plh_profile->process_start = 1;
	scenario_limits_begin(limit_action);
	statement_runs_start();
	note_settings();
	set_state("idle");
}

bool
scenario_process_has_begun(void)
{
	return has_begun;
}

static void
set_interval(Words *words)
{
	ways.interval = words_take(words, "off") ? 0 : (uint32) words_size(words);
}

static void
set_pause(Words *words)
{
	ways.step_us = words_time(words);
}

/* Of each megabyte that is allocated. */
static void
set_speed(Words *words)
{
	ways.us_per_mb = words_time(words);
	words_expect(words, "per");
	words_expect(words, "MB");
}

/* By which part chunks take more than is asked for. */
static void
set_rounding(Words *words)
{
	ways.rounding = words_part(words);
}

static void
set_counted(Words *words)
{
	if (words_take(words, "never"))
		ways.counted_from_us = -1;
	else
	{
		words_expect(words, "from");
		ways.counted_from_us = words_time(words);
	}
}

/* It is stopped, say, or in a system call. */
static void
set_deaf(Words *words)
{
	scenario_process.is_deaf = true;
}

static void
set_hearing(Words *words)
{
	scenario_process.is_deaf = false;
}

static void
set_seed(Words *words)
{
	seed = (uint64) words_number(words);
}

static void
set_work_mem(Words *words)
{
	work_mem = words_size(words) / 1024;
}

static void
set_maintenance_work_mem(Words *words)
{
	maintenance_work_mem = words_size(words) / 1024;
}

static void
set_logical_decoding_work_mem(Words *words)
{
	logical_decoding_work_mem = words_size(words) / 1024;
}

static void
set_partitionwise(Words *words)
{
	words_expect(words, "aggregates");
	enable_partitionwise_aggregate = true;
}

static void
set_join_collapse_limit(Words *words)
{
	join_collapse_limit = (int) words_number(words);
}

static void
set_geqo(Words *words)
{
	words_expect(words, "off");
	enable_geqo = false;
}

static void
set_release(Words *words)
{
	server_release = strdup(words_next(words));
}

static void
set_hash_mem_multiplier(Words *words)
{
	hash_mem_multiplier = words_number(words);
}

static void
set_process_memory_limit(Words *words)
{
	plh_process_memory_limit = words_size(words);
}

/* What comes of it. */
static void
set_limit_action(Words *words)
{
	static const char *const names[] = {"log", "error", "terminate"};
	const char *name = words_next(words);

	for (limit_action = 0; strcmp(names[limit_action], name) != 0;)
		if (++limit_action == lengthof(names))
			words_fail(words, "\"%s\" is no action", name);
}

static void
set_dump_min_bytes(Words *words)
{
	plh_dump_min_bytes = words_size(words);
}

static void
set_dump_min_peak(Words *words)
{
	plh_dump_min_peak = words_size(words);
}

/* Whether malloc is sampled, or whose it is; of an unknown one nothing is counted. */
static void
set_malloc(Words *words)
{
	const char *what = words_next(words);

	if (strcmp(what, "sampled") == 0)
		tracks_malloc = true;
	else if (strcmp(what, "silent") == 0)
		allocator = PLH_ALLOCATOR_UNKNOWN;
	else if (strcmp(what, "jemalloc") == 0)
		allocator = PLH_ALLOCATOR_JEMALLOC;
	else if (strcmp(what, "tcmalloc") == 0)
		allocator = PLH_ALLOCATOR_TCMALLOC;
	else if (strcmp(what, "mimalloc") == 0)
		allocator = PLH_ALLOCATOR_MIMALLOC;
	else
		words_fail(words, "malloc is not \"%s\"", what);
}

static void
set_scope(Words *words)
{
	if (words_take(words, "all"))
		scope = PLH_SCOPE_ALL;
	else
	{
		words_expect(words, "long_lived");
		scope = PLH_SCOPE_LONG_LIVED;
	}
}

static void
set_user(Words *words)
{
	strlcpy(scenario_process.username, words_next(words), NAMEDATALEN);
}

static void
set_database(Words *words)
{
	strlcpy(scenario_process.database, words_next(words), NAMEDATALEN);
}

static void
set_application(Words *words)
{
	strlcpy(scenario_process.application, words_next(words), NAMEDATALEN);
}

static void
set_session_state(Words *words)
{
	scenario_process_begin();
	set_state(strdup(words_next(words)));
}

/* locks N, relations N, advisory N */
static void
set_locks(Words *words)
{
	server_locks.count = (int64) words_number(words);
	words_expect(words, "relations");
	server_locks.relations = (int64) words_number(words);
	words_expect(words, "advisory");
	server_locks.advisory = (int64) words_number(words);
}

static void
add_library(Words *words)
{
	if (scenario_process.library_count == lengthof(scenario_process.libraries))
		words_fail(words, "there are too many libraries");
	scenario_process.libraries[scenario_process.library_count++] =
		strdup(psprintf("/usr/lib/postgresql/lib/%s", words_next(words)));
}

typedef struct Command
{
	const char *name;
	void		(*run) (Words *words);
} Command;

static const Command settings[] = {
	{"interval", set_interval},
	{"pause", set_pause},
	{"speed", set_speed},
	{"rounding", set_rounding},
	{"counted", set_counted},
	{"locks", set_locks},
	{"deaf", set_deaf},
	{"hears", set_hearing},
	{"seed", set_seed},
	{"work_mem", set_work_mem},
	{"maintenance_work_mem", set_maintenance_work_mem},
	{"logical_decoding_work_mem", set_logical_decoding_work_mem},
	{"partitionwise", set_partitionwise},
	{"join_collapse_limit", set_join_collapse_limit},
	{"geqo", set_geqo},
	{"release", set_release},
	{"hash_mem_multiplier", set_hash_mem_multiplier},
	{"dump_min_bytes", set_dump_min_bytes},
	{"dump_min_peak", set_dump_min_peak},
	{"limit_action", set_limit_action},
	{"process_memory_limit", set_process_memory_limit},
	{"malloc", set_malloc},
	{"scope", set_scope},
	{"user", set_user},
	{"database", set_database},
	{"application", set_application},
	{"state", set_session_state},
	{"library", add_library},
	{NULL}
};

/* The command of that name; NULL: there is none. */
static const Command *
find(const Command *commands, const char *name)
{
	for (; commands->name != NULL; commands++)
		if (strcmp(commands->name, name) == 0)
			return commands;
	return NULL;
}

/* process NAME VALUE, NAME VALUE, ... */
static void
set(Words *words)
{
	while (words_are_left(words))
	{
		const char *name = words_next(words);
		const Command *setting = find(settings, name);

		if (setting == NULL)
			words_fail(words, "\"%s\" is nothing that a process has", name);
		setting->run(words);
	}
	note_settings();
}

static void
begin(Words *words)
{
	scenario_process_begin();
	in_transaction = true;
	simulated_transaction();
	set_state("idle in transaction");
}

/* statement [id 42] TEXT */
static void
statement(Words *words)
{
	uint64		query_id = 0;

	scenario_process_begin();
	if (words_take(words, "id"))
		query_id = (uint64) words_number(words);
	if (runs_statement)
		simulated_finish();
	if (!in_transaction)
		begin(words);
	free(unconstify(char *, scenario_process.query.text));
	scenario_process.query = (PlhServerQuery)
	{
		strdup(words_rest(words)), query_id, simulated_time(), true
	};
	statement_runs_next();
	simulated_query_id(query_id);
	simulated_statement("%s", scenario_process.query.text);
	runs_statement = true;
	set_state("active");
}

static void
finish(Words *words)
{
	simulated_finish();
	runs_statement = scenario_process.query.runs = false;
	set_state("idle in transaction");
}

static void
commit(Words *words)
{
	if (!in_transaction)
		words_fail(words, "there is no transaction");
	scenario_portals_end();
	simulated_commit();
	server_limits_committed();
	in_transaction = runs_statement = scenario_process.query.runs = false;
	simulated_statement("%s", "");
	server_state = "idle";
	server_activity.state_since = simulated_time() - ways.step_us;
}

static void
wait_for(Words *words)
{
	scenario_process_begin();
	scenario_server_wait(words_time(words));
}

/* The next one is another. */
static void
end_process(void)
{
	statement_runs_end();
	scenario_portals_forget();
	simulated_end();
	seed++;
	has_begun = in_transaction = runs_statement = false;
	scenario_process.is_over = scenario_process.has_crashed = false;
	memset(&scenario_process.query, 0, sizeof(scenario_process.query));
}

/* another [N like this] process: the one so far stays as it is */
static void
another(Words *words)
{
	int			count = 0;

	scenario_process_begin();
	if (!words_take(words, "process"))
	{
		count = (int) words_number(words);
		words_expect(words, "like");
		words_expect(words, "this");
	}
	other_processes_keep();
	other_processes_copy(count);
	end_process();
}

/* exit: the process ends, and what comes next is of another one */
static void
end_by_exit(Words *words)
{
	scenario_process_begin();
	if (runs_statement)
		simulated_finish();
	scenario_server_log_by(NULL, NULL);
	end_process();
	MyProcPid++;
}

/* The statement has failed, as its last allocation was refused; its transaction ends. */
static void
fails(Words *words)
{
	if (!scenario_limits_take_failure())
		words_fail(words, "no allocation was refused");
	commit(words);
}

/* is ended: the session, by its limit */
static void
is_ended(Words *words)
{
	words_expect(words, "ended");
	if (!scenario_limits_take_end())
		words_fail(words, "the session was not ended");
	end_process();
	MyProcPid++;
}

bool
scenario_process_is_idle(void)
{
	return !in_transaction;
}

void
scenario_process_check(const Words *words)
{
	if (scenario_limits_take_failure())
		words_fail(words, "the allocation was refused: \"fails\" is missing behind it");
	if (scenario_limits_take_end())
		words_fail(words, "the session was ended: \"is ended\" is missing");
}

/* crash [by signal N | by exit code N] */
static void
crash(Words *words)
{
	PlhDeath   *death = &plh_profile->death;

	scenario_process.is_over = scenario_process.has_crashed = true;
	death->at = scenario_process.ended_at = simulated_time();
	if (!words_take(words, "by"))
		return;
	death->kind = words_take(words, "signal") ? PLH_DEATH_SIGNAL : PLH_DEATH_EXIT_CODE;
	if (plh_death_kind(death) == PLH_DEATH_EXIT_CODE)
	{
		words_expect(words, "exit");
		words_expect(words, "code");
	}
	death->number = (int) words_number(words);
}

/* What is looked at from now on is a dump of this moment. */
static void
dump(Words *words)
{
	scenario_process.is_over = true;
	scenario_process.ended_at = simulated_time();
}

static const Command commands[] = {
	{"process", set},
	{"begin", begin},
	{"statement", statement},
	{"finish", finish},
	{"commit", commit},
	{"wait", wait_for},
	{"fails", fails},
	{"is", is_ended},
	{"another", another},
	{"exit", end_by_exit},
	{"crash", crash},
	{"dump", dump},
	{NULL}
};

bool
scenario_process_do(const char *name, Words *words)
{
	const Command *command = find(commands, name);

	if (command != NULL)
		command->run(words);
	return command != NULL;
}
