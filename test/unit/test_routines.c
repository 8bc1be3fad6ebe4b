/*
 * test_routines.c
 *	  Frames of routines in stacks: where they are merged, when a stack is known, and
 *	  that a leak is judged over all routines.
 */
#include "postgres.h"

#include "access/xact.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"

#include "base/clock.h"
#include "filled_profile.h"
#include "leaking_session.h"
#include "profile/profile_image.h"
#include "profile/profile_recycling.h"
#include "routine/running_routines.h"
#include "unit_tests.h"
#include "judge/findings.h"

/* A routine that runs, the frame behind which it is, and what it says of itself. */
typedef struct RunningRoutine
{
	PlhRoutineLanguage language;
	int			place;
	const char *name;
	int			line;
	uint64		version;		/* 0: it has no mark */
} RunningRoutine;

/* Those that run, the innermost first. */
static const RunningRoutine *running_now;
static int	running_count;
static int	running_next;
static const int *running_indexes;
static int	places_found;
static int	routines_read;

static bool
read_stub(const void *argument, PlhRoutine *routine)
{
	routines_read++;
	routine->name = ((const RunningRoutine *) argument)->name;
	routine->line = ((const RunningRoutine *) argument)->line;
	return routine->name != NULL;
}

static PlhRoutineMark
mark_stub(const void *argument)
{
	const RunningRoutine *routine = argument;

	return (PlhRoutineMark)
	{
		.version = routine->version,
			.place = routine->version != 0 ? PLH_ROUTINE_PLACE(1, routine->line) : 0
	};
}

static const PlhRoutineReader reader_stubs[PLH_LANGUAGES] = {
	[PLH_LANGUAGE_PLPGSQL] = {.language = PLH_LANGUAGE_PLPGSQL,.read = read_stub,.mark = mark_stub},
	[PLH_LANGUAGE_SQL] = {.language = PLH_LANGUAGE_SQL,.read = read_stub}
};

static void
begin_stub(PlhRoutineWalk *walk)
{
	running_next = 0;
}

static bool
next_stub(PlhRoutineWalk *walk, PlhRunningRoutine *running)
{
	const RunningRoutine *routine = &running_now[running_next];

	if (running_next++ == running_count)
		return false;
	running->place = routine->place;
	running->reader = &reader_stubs[routine->language];
	running->argument = routine;
	return true;
}

static void
places_stub(const PlhStack *stack, const uintptr_t *places, int count, int *indexes)
{
	places_found++;
	for (int i = 0; i < count; i++)
		indexes[i] = Min(running_indexes[places[i]], stack->depth);
}

#define plh_running_routines_begin begin_stub
#define plh_running_routines_next next_stub
#define plh_unwind_find_places places_stub

/* Nothing here is of a statement, and others stand in for what finds that. */
#define plh_current_site_statement statement_unused
#define debug_query_string NULL
#define pgstat_get_my_query_id() 0
#define GetCurrentTransactionStartTimestamp() 0
#include "sampler/current_site.c"

static const RunningRoutine nested[] = {
	{.language = PLH_LANGUAGE_PLPGSQL,.place = 0,.name = "inner_f(integer)",.line = 6},
	{.language = PLH_LANGUAGE_SQL,.place = 1,.name = "SQL function between"},
	{.language = PLH_LANGUAGE_PLPGSQL,.place = 2,.name = "outer_f(integer)",.line = 3}
};
static const int nested_indexes[] = {2, 3, 5};

static const RunningRoutine other_line[] = {
	{.language = PLH_LANGUAGE_PLPGSQL,.place = 0,.name = "inner_f(integer)",.line = 7}
};

static void
run_in(const RunningRoutine *routines, int count, const int *indexes)
{
	running_now = routines;
	running_count = count;
	running_indexes = indexes;
}

/* Capture a stack of six frames, as one that is known by that number, or not at all. */
static PlhStack *
capture_stack(PlhStack *stack, PlhKnownStack *known)
{
	memset(stack, 0, sizeof(*stack));
	stack->addresses = stack->buffer;
	stack->depth = 6;
	stack->known = known;
	for (int i = 0; i < stack->depth; i++)
		stack->buffer[i] = 0x1000 + i;
	plh_current_site_add_routines(stack);
	return stack;
}

static const PlhStackRecord *
stack_record(uint32 offset)
{
	return plh_profile_image_stack(plh_profile_image_own(plh_profile), offset);
}

/* Is that frame of a stack the one of a routine? */
static bool
is_routine(uint32 offset, int index, const RunningRoutine *routine)
{
	const PlhProfileImage *image = plh_profile_image_own(plh_profile);
	PlhFrame	frame = stack_record(offset)->frames[index];
	const PlhStringRecord *name = plh_profile_image_string(image, PLH_ROUTINE_STRING(frame));

	return PLH_FRAME_IS_ROUTINE(frame) && name != NULL &&
		strcmp(name->text, routine->name) == 0 &&
		PLH_ROUTINE_LINE(frame) == routine->line &&
		PLH_ROUTINE_LANGUAGE(frame) == routine->language;
}

static void
test_merged_frames(void)
{
	PlhStack	stack;
	uint32		offset;
	RunningRoutine far = nested[0];

	run_in(nested, 3, nested_indexes);
	offset = plh_profile_stack(capture_stack(&stack, NULL));
	ok(stack_record(offset)->depth == 9 && stack_record(offset)->routines == 3 &&
	   is_routine(offset, 2, &nested[0]) && is_routine(offset, 4, &nested[1]) &&
	   is_routine(offset, 7, &nested[2]),
	   "routines stand behind the functions with their callbacks");
	ok(stack_record(offset)->frames[1] == 0x1000 &&
	   stack_record(offset)->frames[3] == 0x1001 &&
	   stack_record(offset)->frames[8] == 0x1004, "the frames in C stay in their order");
	ok(plh_profile_stack(capture_stack(&stack, NULL)) == offset, "an equal stack is the same one");
	run_in(other_line, 1, nested_indexes);
	ok(plh_profile_stack(capture_stack(&stack, NULL)) != offset, "a stack at another line is another");
	far.line = PLH_ROUTINE_LINE_MAX + 1;
	run_in(&far, 1, nested_indexes);
	offset = plh_profile_stack(capture_stack(&stack, NULL));
	far.line = PLH_ROUTINE_LINE_MAX;
	ok(is_routine(offset, 2, &far), "a line beyond the largest is that");
	run_in(NULL, 0, NULL);
	ok(stack_record(plh_profile_stack(capture_stack(&stack, NULL)))->routines == 0,
	   "a stack without routines stays as it is");
}

/* Of a stack that was cut, routines beyond the cut are left out, but for the innermost. */
static void
test_cut_stacks(void)
{
	static const int beyond[] = {6, 6, 6};
	static const int first[] = {1};
	RunningRoutine many[PLH_ROUTINES_MAX];
	PlhStack	stack = {0};
	uint32		offset;

	run_in(nested, 3, beyond);
	stack.addresses = stack.buffer;
	stack.depth = 6;
	stack.truncated = true;
	for (int i = 0; i < stack.depth; i++)
		stack.buffer[i] = 0x2000 + i;
	plh_current_site_add_routines(&stack);
	offset = plh_profile_stack(&stack);
	ok(stack_record(offset)->depth == 7 && is_routine(offset, 6, &nested[0]),
	   "beyond the end of a stack that was cut, only the innermost routine is kept");
	for (int i = 0; i < PLH_ROUTINES_MAX; i++)
	{
		many[i] = nested[0];
		many[i].place = 0;
	}
	run_in(many, PLH_ROUTINES_MAX, first);
	memset(&stack, 0, sizeof(stack));
	stack.addresses = stack.buffer;
	stack.depth = PLH_MAX_FRAMES;
	for (int i = 0; i < stack.depth; i++)
		stack.buffer[i] = 0x3000 + i;
	plh_current_site_add_routines(&stack);
	offset = plh_profile_stack(&stack);
	ok(stack_record(offset)->depth == PLH_MAX_FRAMES && stack_record(offset)->truncated == 1 &&
	   stack_record(offset)->routines == PLH_ROUTINES_MAX,
	   "a stack with routines has no more frames than any other");
}

/* What is known of a stack in C and its routines, is known of nothing else. */
static void
test_known_stacks(void)
{
	PlhStack	stack;
	PlhKnownStack one = {.number = 1};
	PlhKnownStack two = {.number = 2};
	uint32		first;
	uint32		second;

	run_in(nested, 3, nested_indexes);
	first = plh_profile_stack(capture_stack(&stack, &one));
	places_found = 0;
	ok(plh_profile_stack(capture_stack(&stack, &one)) == first && places_found == 0,
	   "a stack with the same routines is known");
	run_in(other_line, 1, nested_indexes);
	second = plh_profile_stack(capture_stack(&stack, &one));
	ok(second != first && is_routine(second, 2, &other_line[0]),
	   "a stack at another line is not taken for one that is known");
	run_in(nested, 3, nested_indexes);
	places_found = 0;
	ok(plh_profile_stack(capture_stack(&stack, &one)) == first && places_found == 0,
	   "several lines of a stack are known at a time");
	memset(&stack, 0, sizeof(stack));
	stack.addresses = stack.buffer;
	stack.depth = 1;
	stack.buffer[0] = 0x9000;
	stack.known = &two;
	plh_current_site_add_routines(&stack);
	ok(plh_profile_stack(&stack) != first, "another stack with the same routines is another");
	plh_profile_recycling_generation++;
	places_found = 0;
	ok(plh_profile_stack(capture_stack(&stack, &one)) == first && places_found == 1,
	   "a stack is looked up anew when stacks were given up");
}

/* A routine that says in few instructions what it is, is read once. */
static void
test_marked_routines(void)
{
	PlhStack	stack;
	RunningRoutine replaced;
	RunningRoutine marked_one = {
		.language = PLH_LANGUAGE_PLPGSQL,.name = "marked_f()",.line = 4,.version = 1
	};
	uint32		offset;

	run_in(&marked_one, 1, nested_indexes);
	routines_read = 0;
	offset = plh_profile_stack(capture_stack(&stack, NULL));
	ok(plh_profile_stack(capture_stack(&stack, NULL)) == offset && routines_read == 1 &&
	   is_routine(offset, 2, &marked_one), "a routine with a mark is read once");
	marked_one.line = 5;
	offset = plh_profile_stack(capture_stack(&stack, NULL));
	ok(routines_read == 2 && is_routine(offset, 2, &marked_one), "at another line it is read again");
	marked_one.line += MARKED;
	offset = plh_profile_stack(capture_stack(&stack, NULL));
	ok(is_routine(offset, 2, &marked_one), "so it is at a line that is remembered at the same place");
	replaced = marked_one;
	replaced.name = "renamed_f()";
	replaced.version++;
	run_in(&replaced, 1, nested_indexes);
	offset = plh_profile_stack(capture_stack(&stack, NULL));
	ok(is_routine(offset, 2, &replaced), "a routine that was replaced is read again");
	routines_read = 0;
	plh_profile_recycling_generation++;
	offset = plh_profile_stack(capture_stack(&stack, NULL));
	ok(is_routine(offset, 2, &replaced) && routines_read == 1,
	   "a routine is read again when the profile began anew");
	replaced.version++;
	replaced.name = NULL;
	ok(stack_record(plh_profile_stack(capture_stack(&stack, NULL)))->routines == 0,
	   "a routine that has nothing to say is left out");
}

/* A function in C that leaks from many lines of PL/pgSQL. */
static void
test_many_lines(void)
{
	Session    *session = palloc(sizeof(Session));
	PlhFindings *findings;

	begin_session(session, 1, 1);
	begin_statement(session, "SELECT shop.add_items();");
	for (int i = 1; i <= 400; i++)
	{
		begin_transaction(session, i);
		session->routine_line = 1 + i % 100;
		allocate(session, LEAKING_TOP, "TopMemoryContext", 1000);
	}
	findings = plh_findings_make(plh_profile_image_own(plh_profile), NULL, plh_clock_coarse_now(), NULL);
	ok(findings->count == 1 && findings->list[0].kind == PLH_KIND_SITE_LEAKS &&
	   findings->list[0].sites.sites == 100 && findings->list[0].sites.statements == 1,
	   "a leak is found that is spread over many lines");
	ok(findings->list[0].bytes == 400 * 1000,
	   "a leak that is spread over many lines has the bytes of all");
	end_session();
}

void
test_routines(void)
{
	begin_filling(1024 * 1024);
	test_merged_frames();
	test_cut_stacks();
	test_known_stacks();
	test_marked_routines();
	end_filling();
	test_many_lines();
}
