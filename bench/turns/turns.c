/*
 * turns.c
 *	  Lets sessions of several servers take turns, so that whatever else the machine
 *	  does disturbs all of them alike.
 *
 * turns TURNS WORK CONNECTION...: in each of TURNS turns each session does the work
 * once, in an order that changes with the turn.  A line is printed each time: turn,
 * number of the session, figure.  The work is a statement, whose figure is what it
 * returns, or "select" or "tpcb", which is what pgbench's scripts of these names do, ten
 * times, and whose figure is the processor's time in the session, in us for each; or
 * "paced-select" or "paced-tpcb", which do that once, after a pause.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

#define MAX_SESSIONS 16
#define TRANSACTIONS 10

/* Of sessions that have little to do; with four of them, each has 100 transactions/s. */
#define PAUSE_NS 2500000

/* Those of pgbench's tables of this scale. */
#define SCALE 10
#define ACCOUNTS (100000 * SCALE)
#define TELLERS (10 * SCALE)

/* The same in each session of a turn. */
static unsigned random_state;

static int
random_up_to(int limit)
{
	random_state = random_state * 1103515245 + 12345;
	return (random_state >> 8) % limit + 1;
}

static void
fail(PGconn *connection)
{
	fprintf(stderr, "%s", PQerrorMessage(connection));
	exit(1);
}

/* Returns the first value, or 0 if there is none. */
static double
run(PGconn *connection, const char *statement)
{
	PGresult   *result = PQexec(connection, statement);
	ExecStatusType status = PQresultStatus(result);
	double		value = 0;

	if (status == PGRES_TUPLES_OK && PQntuples(result) > 0)
		value = atof(PQgetvalue(result, 0, 0));
	else if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		fail(connection);
	PQclear(result);
	return value;
}

static void
run_select(PGconn *connection)
{
	char		statement[200];

	snprintf(statement, sizeof(statement), "SELECT abalance FROM pgbench_accounts WHERE aid = %d;",
			 random_up_to(ACCOUNTS));
	run(connection, statement);
}

static void
run_tpcb(PGconn *connection)
{
	char		statement[200];
	int			aid = random_up_to(ACCOUNTS);
	int			tid = random_up_to(TELLERS);
	int			bid = random_up_to(SCALE);
	int			delta = random_up_to(10000) - 5000;

	run(connection, "BEGIN;");
	snprintf(statement, sizeof(statement), "UPDATE pgbench_accounts SET abalance = abalance + %d WHERE aid = %d;", delta, aid);
	run(connection, statement);
	snprintf(statement, sizeof(statement), "SELECT abalance FROM pgbench_accounts WHERE aid = %d;", aid);
	run(connection, statement);
	snprintf(statement, sizeof(statement), "UPDATE pgbench_tellers SET tbalance = tbalance + %d WHERE tid = %d;", delta, tid);
	run(connection, statement);
	snprintf(statement, sizeof(statement), "UPDATE pgbench_branches SET bbalance = bbalance + %d WHERE bid = %d;", delta, bid);
	run(connection, statement);
	snprintf(statement, sizeof(statement),
			 "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (%d, %d, %d, %d, CURRENT_TIMESTAMP);",
			 tid, bid, aid, delta);
	run(connection, statement);
	run(connection, "END;");
}

typedef void (*Transaction) (PGconn *);

static const struct
{
	const char *name;
	Transaction transaction;
	bool		is_paced;
}			scripts[] = {
	{"select", run_select, false},
	{"tpcb", run_tpcb, false},
	{"paced-select", run_select, true},
	{"paced-tpcb", run_tpcb, true}
};

/* The processor's time that the session's process has taken, in us. */
static double
time_of(PGconn *connection)
{
	clockid_t	clock;
	struct timespec now;

	if (clock_getcpuclockid(PQbackendPID(connection), &clock) != 0 || clock_gettime(clock, &now) != 0)
	{
		fprintf(stderr, "The processor's time of a session is not to be had.\n");
		exit(1);
	}
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

/* Returns what a transaction takes on average. */
static double
time_transactions(PGconn *connection, Transaction transaction, int transactions)
{
	double		before = time_of(connection);

	for (int i = 0; i < transactions; i++)
		transaction(connection);
	return (time_of(connection) - before) / transactions;
}

static double
figure_of(PGconn *connection, const char *work)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
	{
		if (strcmp(work, scripts[i].name) != 0)
			continue;
		if (scripts[i].is_paced)
			nanosleep(&pause, NULL);
		else
			/* the caches have what the session before has put there */
			scripts[i].transaction(connection);
		return time_transactions(connection, scripts[i].transaction,
								 scripts[i].is_paced ? 1 : TRANSACTIONS);
	}
	return run(connection, work);
}

int
main(int argc, char **argv)
{
	int			turns = argc > 1 ? atoi(argv[1]) : 0;
	int			sessions = argc - 3;
	PGconn	   *connections[MAX_SESSIONS];

	if (turns < 1 || sessions < 1 || sessions > MAX_SESSIONS)
	{
		fprintf(stderr, "usage: turns TURNS WORK CONNECTION...\n");
		return 1;
	}
	for (int i = 0; i < sessions; i++)
	{
		connections[i] = PQconnectdb(argv[3 + i]);
		if (PQstatus(connections[i]) != CONNECTION_OK)
			fail(connections[i]);
	}
	/* A tenth of the turns come before, and are not shown. */
	for (int turn = -turns / 10; turn < turns; turn++)
	{
		for (int i = 0; i < sessions; i++)
		{
			int			session = (i + turn + turns) % sessions;
			double		figure;

			random_state = turn;
			figure = figure_of(connections[session], argv[2]);
			if (turn >= 0)
				printf("%d %d %g\n", turn, session, figure);
		}
	}
	for (int i = 0; i < sessions; i++)
		PQfinish(connections[i]);
	return 0;
}
