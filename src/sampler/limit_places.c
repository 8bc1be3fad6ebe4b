/*
 * limit_places.c
 *	  What processes tell the keeper of their memory, and which of them it asks to act.
 *
 * This code runs inside palloc.
 *
 * The places lie in the file of requests.  A process has that of its pid modulo their number, until
 * another one needs it: then the keeper knows of it what the kernel tells now and then.
 */
#include "postgres.h"

#include <unistd.h>

#include "base/settings.h"
#include "sampler/limit_places.h"

static PlhControlLimit *
place_of(int pid)
{
	return &plh_control_file->limits[pid % PLH_CONTROL_LIMITS];
}

void
plh_limit_places_note(int64 own_bytes, int64 passing_bytes)
{
	int			pid = (int) getpid();
	PlhControlLimit *place;

	if (plh_control_file == NULL)
		return;
	place = place_of(pid);
	if (place->pid != pid)
	{
		place->pid = 0;
		pg_write_barrier();
		pg_atomic_write_u32(&place->asked[PLH_LIMIT_END_STATEMENT], 0);
		pg_atomic_write_u32(&place->asked[PLH_LIMIT_END_SESSION], 0);
	}
	place->own_bytes = own_bytes;
	place->passing_bytes = passing_bytes;
	place->action = plh_limit_action;
	pg_write_barrier();
	place->pid = pid;
}

void
plh_limit_places_note_action(void)
{
	int			pid = (int) getpid();

	if (plh_control_file != NULL && place_of(pid)->pid == pid)
		place_of(pid)->action = plh_limit_action;
}

/* Take back what the process with that pid was asked for. */
static bool
take_back(int pid, PlhLimitDemand demand)
{
	uint32		asked = (uint32) pid;
	pg_atomic_uint32 *place = &place_of(pid)->asked[demand];

	return pg_atomic_read_u32(place) == asked && pg_atomic_compare_exchange_u32(place, &asked, 0);
}

bool
plh_limit_places_is_asked(PlhLimitDemand demand)
{
	return plh_control_file != NULL &&
		pg_atomic_read_u32(&place_of((int) getpid())->asked[demand]) == (uint32) getpid();
}

bool
plh_limit_places_take(PlhLimitDemand demand)
{
	return plh_control_file != NULL && take_back((int) getpid(), demand);
}

void
plh_limit_places_count_hit(void)
{
	if (plh_control_file != NULL)
		(void) pg_atomic_fetch_add_u64(&plh_control_file->limit_hits, 1);
}

int64
plh_limit_places_hits(void)
{
	return plh_control_file == NULL ? 0 : (int64) pg_atomic_read_u64(&plh_control_file->limit_hits);
}

PlhLimitPlace
plh_limit_places_read(int number)
{
	const volatile PlhControlLimit *place = &plh_control_file->limits[number];
	PlhLimitPlace read = {.pid = place->pid};

	pg_read_barrier();
	read.own_bytes = place->own_bytes;
	read.passing_bytes = place->passing_bytes;
	read.action = place->action;
	pg_read_barrier();
	if (place->pid != read.pid)
		read.pid = 0;
	return read;
}

void
plh_limit_places_ask(int pid, PlhLimitDemand demand)
{
	pg_atomic_write_u32(&place_of(pid)->asked[demand], (uint32) pid);
}

bool
plh_limit_places_awaits(int pid)
{
	PlhControlLimit *place = place_of(pid);

	return pg_atomic_read_u32(&place->asked[PLH_LIMIT_END_STATEMENT]) == (uint32) pid ||
		pg_atomic_read_u32(&place->asked[PLH_LIMIT_END_SESSION]) == (uint32) pid;
}

void
plh_limit_places_ask_no_more(int pid)
{
	(void) take_back(pid, PLH_LIMIT_END_STATEMENT);
	(void) take_back(pid, PLH_LIMIT_END_SESSION);
}
