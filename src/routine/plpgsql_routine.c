/*
 * plpgsql_routine.c
 *	  Functions, procedures, triggers and DO blocks in PL/pgSQL.
 *
 * This code runs inside palloc.
 *
 * The argument of the callback is the PLpgSQL_execstate of a call, which lies on the stack.  That
 * of the innermost call of a function is known to the function, too, which proves both.
 */
#include "postgres.h"

#include "routine/routine_reader.h"

#if PLH_HAVE_PLPGSQL

#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "plpgsql.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "base/own_memory.h"
#include "stack/stack_walk.h"

/* PL/pgSQL's own name for the code of DO. */
#define DO_SIGNATURE "inline_code_block"

#define MOST_LINES (10 * 1000 * 1000)

/* Where a member of a struct is, which may not be there. */
#define PLACE_OF(type, at, member) ((const char *) (at) + offsetof(type, member))

static bool
is_on_stack(const void *at, Size bytes)
{
	return (uintptr_t) at >= plh_stack_walk_low && (uintptr_t) at % sizeof(void *) == 0 &&
		(uintptr_t) at < plh_stack_walk_end && plh_stack_walk_end - (uintptr_t) at >= bytes;
}

static bool
is_line(int line)
{
	return line >= 0 && line <= MOST_LINES;
}

static bool
has_sound_place(const PLpgSQL_execstate *call)
{
	PLpgSQL_stmt statement;
	PLpgSQL_variable variable;

	if (call->err_stmt != NULL &&
		(!plh_own_memory_copy_struct(&statement, call->err_stmt, sizeof(statement)) ||
		 !is_line(statement.lineno)))
		return false;
	return call->err_var == NULL ||
		(plh_own_memory_copy_struct(&variable, call->err_var, sizeof(variable)) &&
		 is_line(variable.lineno));
}

/* Is there a trigger with a name, on a relation with a name, if there seems to be one? */
static bool
has_sound_trigger(const PLpgSQL_execstate *call)
{
	TriggerData data;
	Trigger		trigger;
	Form_pg_class class;

	return call->trigdata == NULL ||
		(plh_own_memory_copy_struct(&data, call->trigdata, sizeof(data)) &&
		 data.type == T_TriggerData &&
		 plh_own_memory_copy_struct(&trigger, data.tg_trigger, sizeof(trigger)) &&
		 plh_routine_reader_is_name(trigger.tgname) &&
		 plh_own_memory_copy_struct(&class, PLACE_OF(RelationData, data.tg_relation, rd_rel),
									sizeof(class)) &&
		 (uintptr_t) class % sizeof(void *) == 0 &&
		 plh_routine_reader_is_name(PLACE_OF(FormData_pg_class, class, relname)));
}

static PlhTrust
prove(const void *argument)
{
	const PLpgSQL_execstate *call = argument;
	const PLpgSQL_execstate *innermost;
	const char *signature;

	if (!is_on_stack(call, sizeof(*call)) ||
		!plh_own_memory_copy_struct(&innermost, PLACE_OF(PLpgSQL_function, call->func, cur_estate),
									sizeof(innermost)) ||
		innermost != call ||
		!plh_own_memory_copy_struct(&signature, PLACE_OF(PLpgSQL_function, call->func,
														 fn_signature),
									sizeof(signature)) ||
		!plh_routine_reader_is_name(signature) ||
		!has_sound_place(call) || !has_sound_trigger(call))
		return PLH_TRUST_NONE;
	return call->err_stmt != NULL ? PLH_TRUST_CALLBACK : PLH_TRUST_ARGUMENT;
}

/* The line that a call is at, looked for in the order in which the callback itself does. */
static int
line_of(const PLpgSQL_execstate *call)
{
	if (call->err_var != NULL)
		return call->err_var->lineno;
	return call->err_stmt != NULL ? call->err_stmt->lineno : 0;
}

static bool
read_call(const void *argument, PlhRoutine *routine)
{
	const PLpgSQL_execstate *call = argument;
	const char *signature = call->func->fn_signature;

	routine->line = line_of(call);
	routine->name = signature;
	if (call->trigdata != NULL)
		plh_routine_reader_put_name(routine, "trigger ", call->trigdata->tg_trigger->tgname, " on ",
									RelationGetRelationName(call->trigdata->tg_relation), ": ",
									signature, NULL);
	else if (strcmp(signature, DO_SIGNATURE) == 0)
		routine->name = PLH_DO_BLOCK;
	return true;
}

/* A function is compiled anew if its row in pg_proc has changed; a trigger's names may change. */
static PlhRoutineMark
mark_call(const void *argument)
{
	const PLpgSQL_execstate *call = argument;
	const PLpgSQL_function *function = call->func;
	uint32		block;

	memcpy(&block, &function->PLH_FUNCTION_TID.ip_blkid, sizeof(block));
	return (PlhRoutineMark)
	{
		.version = (uint64) function->PLH_FUNCTION_XMIN << 32 ^ (uint64) block << 16 ^
			function->PLH_FUNCTION_TID.ip_posid,
			.place = call->trigdata == NULL ? PLH_ROUTINE_PLACE(function->fn_oid, line_of(call)) : 0
	};
}

const PlhRoutineReader plh_plpgsql_routine = {
	.language = PLH_LANGUAGE_PLPGSQL,
	.library = "plpgsql.so",
	.prove = prove,
	.read = read_call,
	.mark = mark_call
};

#endif							/* PLH_HAVE_PLPGSQL */
