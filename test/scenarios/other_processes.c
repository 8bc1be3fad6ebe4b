/*
 * other_processes.c
 *	  Processes of a scenario that were there before the last one, and stay as they were.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/process_facts.h"
#include "other_processes.h"
#include "profile/profile.h"
#include "scenario_server.h"
#include "server.h"
#include "simulated.h"

#define PROCESSES 512

static OtherProcess processes[PROCESSES];
static int	count;

/* A copy of an image, with the pid of the process that is next. */
static PlhProfileImage *
copy_image(const PlhProfileImage *image, int pid)
{
	PlhProfileImage *copy = malloc(sizeof(PlhProfileImage));
	PlhProfileHeader *header = malloc(image->bytes);

	memcpy(header, image->header, image->bytes);
	header->pid = pid;
	plh_profile_image_adopt(copy, header, image->bytes);
	copy->alive = image->alive;
	copy->crashed = image->crashed;
	return copy;
}

/* The place of another one, which gets the present pid. */
static OtherProcess *
add(const PlhProfileImage *image)
{
	OtherProcess *other = &processes[count++];

	if (count == PROCESSES)
		abort();
	other->image = image == NULL ? NULL : copy_image(image, MyProcPid);
	other->activity.pid = MyProcPid++;
	return other;
}

void
other_processes_keep(void)
{
	OtherProcess *other;

	scenario_server_begin_look();
	other = add(simulated_is_published() ? &scenario_image : NULL);
	other->own_bytes = plh_process_facts_own_bytes();
	other->state = server_state;
	other->process = scenario_process;
	server_activity.pid = other->activity.pid;
	other->activity = server_activity;
	other->activity.application_name = other->process.application;
	scenario_server_end_look();
}

void
other_processes_copy(int more)
{
	for (const OtherProcess *last = &processes[count - 1]; more > 0; more--)
	{
		OtherProcess *other = add(last->image);
		int			pid = other->activity.pid;

		other->own_bytes = last->own_bytes;
		other->state = last->state;
		other->process = last->process;
		other->activity = last->activity;
		other->activity.application_name = other->process.application;
		other->activity.pid = pid;
	}
}

int
other_processes_count(void)
{
	return count;
}

const OtherProcess *
other_processes_at(int number)
{
	return &processes[number];
}

const OtherProcess *
other_processes_find(int pid)
{
	for (int i = 0; i < count; i++)
		if (processes[i].activity.pid == pid)
			return &processes[i];
	return NULL;
}
