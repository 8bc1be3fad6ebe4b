/*
 * doubt.c
 *	  Why there is no finding on a process: all is well, it is too early, or a part of its
 *	  memory can't be seen.
 *
 * What can't be seen comes first: it may be what the reader is looking for.
 */
#include "postgres.h"

#include "telling/doubt.h"
#include "telling/doubt_growth.h"
#include "telling/doubt_held.h"
#include "telling/doubt_outside.h"
#include "telling/doubt_unknown.h"
#include "telling/doubt_unseen.h"

void
plh_doubt_find(PlhDoubt *doubt, const PlhDoubted *doubted)
{
	memset(doubt, 0, sizeof(*doubt));
	plh_sentences_begin(&doubt->words);
	plh_sentences_begin(&doubt->next);
	doubt->is_unknown = plh_doubt_unknown_find(doubt, doubted);
	if (!doubt->is_unknown &&
		!plh_doubt_unseen_find_frees(doubt, doubted->process->image->header) &&
		!plh_doubt_held_find_cursors(doubt, doubted) &&
		!plh_doubt_unseen_find(doubt, doubted->process) &&
		!plh_doubt_held_find_statement(doubt, doubted) &&
		!plh_doubt_outside_find(doubt, doubted))
		plh_doubt_growth_say(doubt, doubted);
}
