/*
 * routine_frames.c
 *	  Stacks in SQL's terms: of routines alone.
 */
#include "postgres.h"

#include "report/routine_frames.h"

static void
keep_routines(PlhStackText *stack)
{
	static PlhFrameText no_routine = {.text = PLH_NO_ROUTINE_NAME};
	int			count = 0;

	for (int i = 0; i < stack->frame_count; i++)
	{
		if (stack->frames[i].language != PLH_LANGUAGE_NONE)
			stack->frames[count++] = stack->frames[i];
	}
	if (count == 0)
	{
		stack->frames = &no_routine;
		count = 1;
	}
	stack->frame_count = count;
	stack->site_frame = 0;
	stack->site = stack->frames[0].text;
}

/*
 * Leave all frames in C out of the stacks of a list.
 */
void
plh_routine_frames_keep(PlhSiteList *list)
{
	for (int i = 0; i < list->count; i++)
		keep_routines(&list->sites[i].stack);
}
