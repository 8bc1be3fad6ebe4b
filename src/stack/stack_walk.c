/*
 * stack_walk.c
 *	  Walks over the stack by rules, and notes what it goes by.
 *
 * This code runs inside palloc.
 *
 * A rule says how to get from a frame to its caller, by the tables for unwinding that modules have.
 * A module's .eh_frame_hdr has a sorted list of its functions, each with the place of its FDE.  The
 * modules' list is our own (modules.h), as libgcc's search takes a lock, and allocates, once
 * JIT-compiled code is registered.  What lies outside of modules has no rule here.
 */
#include "postgres.h"

#include <dwarf.h>
#include <sys/resource.h>

#include "base/fork.h"
#include "base/page_layout.h"
#include "stack/compiled_code.h"
#include "stack/modules.h"
#include "stack/stack_walk.h"

/*
 * Rules are kept by return address, in sets, of which the oldest one gives way to a new one.  A
 * rule that was given up has to be trusted anew when it is needed again, for which libunwind walks
 * over a whole stack.  With one rule for each hash, that took half of the time of all captures at
 * the default interval.
 */
#define SET_BITS 9
#define RULES_IN_SET 4

static PLH_SAME_IN_CHILD PLH_LARGE PlhUnwindRule rules[1 << SET_BITS][RULES_IN_SET];

#if PLH_HAVE_UNWIND_RULES

/* Encodings of pointers: relative to where they stand, or to .eh_frame_hdr. */
#define RELATIVE_INT32 (DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define TABLE_INT32 (DW_EH_PE_datarel | DW_EH_PE_sdata4)

/* An entry of the sorted list in .eh_frame_hdr, relative to its start. */
typedef struct ListedFunction
{
	int32		start;
	int32		fde;
} ListedFunction;

/* Find the FDE of the function at an address; NULL if there is none. */
static const uint8 *
find_fde(const uint8 *table, uintptr_t target)
{
	const ListedFunction *list = (const ListedFunction *) (table + 12);
	int64		offset = (int64) (target - (uintptr_t) table);
	uint32		count;
	uint32		low = 0;

	/* version; encodings of a pointer, of the number, and of the list */
	if (table[0] != 1 || table[1] != RELATIVE_INT32 ||
		table[2] != DW_EH_PE_udata4 || table[3] != TABLE_INT32)
		return NULL;
	memcpy(&count, table + 8, sizeof(count));
	while (low < count)
	{
		uint32		middle = low + (count - low) / 2;

		if (list[middle].start <= offset)
			low = middle + 1;
		else
			count = middle;
	}
	return low == 0 ? NULL : table + list[low - 1].fde;
}

/*
 * Make the rule of a return address, which stays unsupported where there is no table.  Where there
 * is no module, one may be later: then the rule is not kept.
 */
static void
find_rule(PlhUnwindRule *rule)
{
	/* the call is before the address, and may be the last of its function */
	uintptr_t	target = rule->address - 1;
	const PlhModule *module = plh_modules_find(target);
	PlhFrameTables tables = {0};

	if (module == NULL)
	{
		/* it may have been loaded just now */
		plh_modules_refresh();
		module = plh_modules_find(target);
	}
	if (module == NULL)
	{
		rule->address = 0;
		rule->kind = PLH_RULE_NO_MODULE;
		return;
	}
	if (module->unwind_table == NULL)
		return;
	tables.fde = find_fde(module->unwind_table, target);
	if (tables.fde == NULL)
		return;
	tables.cie = plh_call_frame_info_cie(tables.fde);
	plh_call_frame_info_rule(&tables, target, rule);
}

#else

static void
find_rule(PlhUnwindRule *rule)
{
}

#endif							/* PLH_HAVE_UNWIND_RULES */

/* Returns the rule of a return address, valid until the next call. */
static PlhUnwindRule *
rule_of(uintptr_t return_address)
{
	uint64		hash = return_address * UINT64CONST(0x9E3779B97F4A7C15);
	PlhUnwindRule *set = rules[hash >> (64 - SET_BITS)];

	for (int i = 0; i < RULES_IN_SET; i++)
		if (likely(set[i].address == return_address))
			return &set[i];
	memmove(set + 1, set, sizeof(PlhUnwindRule) * (RULES_IN_SET - 1));
	memset(set, 0, sizeof(PlhUnwindRule));
	set->address = return_address;
	find_rule(set);
	return set;
}

/* Forget all rules, as a module was unloaded: other code may lie there now. */
void
plh_stack_walk_forget_rules(void)
{
	memset(rules, 0, sizeof(rules));
}

/* The size that a stack is assumed to have at most, where there is no limit. */
#define MAX_STACK_BYTES ((rlim_t) 1024 * 1024 * 1024)

extern void *__libc_stack_end;

PLH_SET_AT_LOAD uintptr_t plh_stack_walk_low;
PLH_SET_AT_LOAD uintptr_t plh_stack_walk_end;

void
plh_stack_walk_learn_stack(void)
{
	struct rlimit limit;

	plh_stack_walk_end = (uintptr_t) __libc_stack_end;
	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > MAX_STACK_BYTES)
		limit.rlim_cur = MAX_STACK_BYTES;
	plh_stack_walk_low = plh_stack_walk_end - limit.rlim_cur;
}

/* No word is so far from the first stack pointer. */
#define NOT_SAVED PG_UINT32_MAX

/* A frame, during a walk. */
typedef struct Frame
{
	PlhStackStart at;
	uint32		saved_offset;	/* where its frame pointer was saved, as of
								 * words, or NOT_SAVED: it is the first one */
	bool		is_noted;		/* among the walk's words */
} Frame;

static void
note_word(PlhStackWalk *walk, uint32 offset, uintptr_t word)
{
	walk->offsets[walk->word_count] = offset;
	walk->words[walk->word_count++] = word;
}

/* The CFA of a frame goes by its frame pointer: note where that is from. */
static void
note_frame_pointer(PlhStackWalk *walk, Frame *frame)
{
	if (frame->is_noted)
		return;
	frame->is_noted = true;
	if (frame->saved_offset == NOT_SAVED)
		walk->uses_frame_pointer = true;
	else
		note_word(walk, frame->saved_offset, frame->at.frame_pointer);
}

/* Step to the caller of a frame.  Returns false if it does not lie where a caller must. */
static bool
step(PlhStackWalk *walk, Frame *frame, const PlhUnwindRule *rule, uintptr_t first_pointer)
{
	uintptr_t	base = rule->from_frame_pointer ? frame->at.frame_pointer : frame->at.stack_pointer;
	uintptr_t	cfa = base + rule->cfa_offset;
	uintptr_t	saved_at = cfa + rule->saved_offset;
	uintptr_t	return_at;

	if (cfa <= frame->at.stack_pointer || cfa > plh_stack_walk_end || cfa % sizeof(uintptr_t) != 0)
		return false;
	if (rule->from_frame_pointer)
		note_frame_pointer(walk, frame);
	return_at = cfa - sizeof(uintptr_t);
	frame->at.address = plh_stack_walk_word(return_at);
	if (walk->depth < PLH_WALK_FRAMES)
		walk->places[walk->depth] = return_at;
	note_word(walk, return_at - first_pointer, frame->at.address);
	if (rule->saved_offset != 0)
	{
		if (saved_at < first_pointer || saved_at >= cfa)
			return false;
		frame->at.frame_pointer = plh_stack_walk_word(saved_at);
		frame->saved_offset = saved_at - first_pointer;
		frame->is_noted = false;
	}
	frame->at.stack_pointer = cfa;
	return true;
}

/*
 * Step to the caller of a frame of code in no module, if that was compiled at run time.  Its rule
 * is not kept, as other code may lie there soon.
 */
static bool
step_over_compiled(PlhStackWalk *walk, Frame *frame, uintptr_t first_pointer)
{
	PlhCompiledFrame *compiled = &walk->compiled[walk->compiled_count];
	PlhUnwindRule rule;

	if (walk->compiled_count == PLH_WALK_COMPILED ||
		!plh_compiled_code_rule(frame->at.address, &rule) ||
		rule.kind != PLH_RULE_CALLER ||
		!step(walk, frame, &rule, first_pointer))
		return false;
	compiled->index = walk->depth - 1;
	compiled->caller = frame->at;
	walk->compiled_count++;
	return true;
}

/* Begin a walk.  Returns the frame that it starts with. */
static inline Frame
begin(PlhStackWalk *walk, const PlhStackStart *start)
{
	Frame		frame = {.at = *start,.saved_offset = NOT_SAVED};

	walk->depth = 0;
	walk->word_count = 0;
	walk->compiled_count = 0;
	walk->uses_frame_pointer = false;
	walk->is_trusted = true;
	walk->is_cut = false;
	return frame;
}

/*
 * Walk over the first frames, no more than "depth", as far as they are of modules' code: that
 * includes the address at which other code goes on.  Returns false if there is a frame that rules
 * are not for.
 */
bool
plh_stack_walk_innermost(PlhStackWalk *walk, const PlhStackStart *start, int depth)
{
	Frame		frame = begin(walk, start);

	while (walk->depth < depth)
	{
		const PlhUnwindRule *rule = rule_of(frame.at.address);

		walk->addresses[walk->depth++] = frame.at.address;
		if (rule->kind == PLH_RULE_OUTERMOST || rule->kind == PLH_RULE_NO_MODULE)
			break;
		if (rule->kind != PLH_RULE_CALLER || !step(walk, &frame, rule, start->stack_pointer))
			return false;
	}
	return true;
}

/*
 * Walk over the whole stack, but not to more than "max_depth" frames.  Returns false if there is a
 * frame that rules are not for.
 */
bool
plh_stack_walk(PlhStackWalk *walk, const PlhStackStart *start, int max_depth)
{
	Frame		frame = begin(walk, start);

	if (!plh_stack_walk_may_start(start))
		return false;
	for (;;)
	{
		const PlhUnwindRule *rule;

		if (walk->depth == Min(max_depth, PLH_WALK_FRAMES))
		{
			walk->is_cut = true;
			return walk->depth == max_depth;
		}
		rule = rule_of(frame.at.address);
		walk->addresses[walk->depth++] = frame.at.address;
		switch (rule->kind)
		{
			case PLH_RULE_OUTERMOST:
				walk->is_trusted &= rule->is_trusted;
				return true;
			case PLH_RULE_CALLER:
				walk->is_trusted &= rule->is_trusted;
				if (!step(walk, &frame, rule, start->stack_pointer))
					return false;
				break;
			case PLH_RULE_NO_MODULE:
				if (!step_over_compiled(walk, &frame, start->stack_pointer))
					return false;
				break;
			default:
				return false;
		}
	}
}

/*
 * A walk was compared with what libunwind finds.  If they are equal, trust the rules of the walk;
 * else leave the frames of those that were not trusted to libunwind.
 */
void
plh_stack_walk_judge(const PlhStackWalk *walk, bool equals_libunwind)
{
	for (int i = 0; i < walk->depth; i++)
	{
		PlhUnwindRule *rule = rule_of(walk->addresses[i]);

		if (equals_libunwind)
			rule->is_trusted = true;
		else if (!rule->is_trusted)
			rule->kind = PLH_RULE_UNSUPPORTED;
	}
}
