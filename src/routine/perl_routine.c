/*
 * perl_routine.c
 *	  Functions and DO blocks in PL/Perl.
 *
 * This code runs inside palloc.
 *
 * The callbacks of a function, while it runs or is compiled, get its name, and that of a DO block
 * gets nothing.
 */
#include "postgres.h"

#include "routine/routine_reader.h"

static PlhTrust
prove(const void *argument)
{
	return argument == NULL || plh_routine_reader_is_name(argument) ?
		PLH_TRUST_CALLBACK : PLH_TRUST_NONE;
}

static bool
read_call(const void *argument, PlhRoutine *routine)
{
	if (argument == NULL)
		routine->name = PLH_DO_BLOCK;
	else
		plh_routine_reader_put_name(routine, "PL/Perl function ", (const char *) argument, NULL);
	return true;
}

const PlhRoutineReader plh_perl_routine = {
	.language = PLH_LANGUAGE_PERL,
	.library = "plperl.so",
	.prove = prove,
	.read = read_call
};
