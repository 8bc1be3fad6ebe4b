/*
 * stack_walk.c
 *	  Walks over the stack by rules, and notes what it goes by.
 *
 * This code runs inside palloc.
 *
 * A rule says how to get from a frame to its caller, by the tables for unwinding that modules have.
 * A module's .eh_frame_hdr has a sorted list of its functions, each with the place of its FDE.  The
 * modules' list is our own (modules.h), as libgcc's search takes a lock, and allocates, once
 * JIT-compiled code is registered.
 *
 * LLVM makes tables for unwinding, too, and registers them with libgcc.  So we look for them
 * ourselves where a frame is in no module: they lie in anonymous memory that can only be read, as
 * /proc/self/maps tells.  What was compiled goes with its query, and something else may lie there
 * the next moment.  So nothing is kept of a function but where its FDE was: that is copied anew for
 * each frame, by a system call that fails where no memory is, and must still be one of code that
 * has the address.
 */
#include "postgres.h"

#include <dwarf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/own_memory.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "base/whole_io.h"
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

/* Memory of more bytes than this is not searched, nor longer entries used. */
#define MAX_SEARCHED_BYTES ((Size) 1024 * 1024)
#define MAX_ENTRY_BYTES 2048

/* A search gives up when it has read this much of memory, or of /proc/self/maps. */
#define MAX_SEARCH_BYTES ((Size) 4 * 1024 * 1024)
#define MAX_MAPS_BYTES ((Size) 1024 * 1024)

/* A CIE of LLVM, behind the length: its id of 0, its version, and "zR". */
static const uint8 cie_start[] = {0, 0, 0, 0, 1, 'z', 'R', 0};

#define LENGTH_BYTES ((Size) sizeof(uint32))

/* A function that was found: where its entries are in the memory of this process. */
typedef struct FoundFunction
{
	PlhCodeRange code;
	uintptr_t	fde;
	uintptr_t	cie;
	uint32		fde_bytes;
	uint32		cie_bytes;
} FoundFunction;

/* A new one takes the place of the oldest. */
#define MAX_FOUND 256
static PLH_SAME_IN_CHILD PLH_LARGE FoundFunction found_functions[MAX_FOUND];
static PLH_SAME_IN_CHILD int next_found;

/* Where something was found the last times: a query's tables lie together. */
#define HINTS 4
static PLH_SAME_IN_CHILD PlhCodeRange hints[HINTS];
static PLH_SAME_IN_CHILD int next_hint;

/*
 * Other compilers may leave no tables, or hide them.  After a search in vain, twice as many frames
 * as after the one before are not searched for.
 */
#define MAX_SKIPPED 1024
static PLH_SAME_IN_CHILD int searches_skipped;
static PLH_SAME_IN_CHILD int searches_to_skip;

/* What is searched is copied here. */
static PLH_SAME_IN_CHILD PlhRegion searched_copy;
static PLH_SAME_IN_CHILD Size searched_bytes;

/* The whole size of the entry of a table that begins there; 0: it has no room. */
static Size
entry_bytes(const uint8 *at, const uint8 *end)
{
	uint32		bytes;

	if (end - at < (ptrdiff_t) (2 * LENGTH_BYTES))
		return 0;
	memcpy(&bytes, at, sizeof(bytes));
	if (bytes < LENGTH_BYTES || bytes > (Size) (end - at) - LENGTH_BYTES ||
		bytes > MAX_ENTRY_BYTES - LENGTH_BYTES)
		return 0;
	return LENGTH_BYTES + bytes;
}

static bool
is_cie(const uint8 *entry, Size bytes)
{
	return bytes >= LENGTH_BYTES + sizeof(cie_start) &&
		memcmp(entry + LENGTH_BYTES, cie_start, sizeof(cie_start)) == 0;
}

/*
 * Look through a table, which begins with that CIE, in memory that was copied from "displacement"
 * bytes further on.  Returns where the FDE that was found is, or else where the table ends.
 */
static const uint8 *
search_table(const uint8 *cie, const uint8 *end, intptr_t displacement,
			 uintptr_t target, FoundFunction *found)
{
	Size		cie_bytes = entry_bytes(cie, end);
	const uint8 *at = cie + cie_bytes;
	Size		bytes;

	for (; (bytes = entry_bytes(at, end)) != 0 && !is_cie(at, bytes); at += bytes)
	{
		PlhFrameTables tables = {at, cie, displacement};

		if (plh_call_frame_info_cie(at) == cie &&
			plh_call_frame_info_range(&tables, &found->code) &&
			plh_code_range_has(&found->code, target))
		{
			found->fde = (uintptr_t) at + displacement;
			found->cie = (uintptr_t) cie + displacement;
			found->fde_bytes = bytes;
			found->cie_bytes = cie_bytes;
			break;
		}
	}
	return at;
}

static bool
search_memory(const PlhCodeRange *memory, uintptr_t target, FoundFunction *found)
{
	Size		bytes = memory->end - memory->start;
	const uint8 *at;
	const uint8 *copy_end;

	if (bytes > MAX_SEARCHED_BYTES ||
		searched_bytes + bytes > MAX_SEARCH_BYTES ||
		!plh_private_memory_reserve(&searched_copy, MAX_SEARCHED_BYTES) ||
		!plh_private_memory_commit(&searched_copy, bytes) ||
		!plh_own_memory_copy(searched_copy.base, (const void *) memory->start, bytes))
		return false;
	searched_bytes += bytes;
	at = (const uint8 *) searched_copy.base;
	copy_end = at + bytes;
	while (found->fde == 0 && at < copy_end)
	{
		if (is_cie(at, entry_bytes(at, copy_end)))
			at = search_table(at, copy_end, memory->start - (uintptr_t) searched_copy.base,
							  target, found);
		else
			at += LENGTH_BYTES;
	}
	return found->fde != 0;
}

/*
 * Is that line of /proc/self/maps one of anonymous memory which can only be read?  Such a line has
 * no name behind the inode, which is 0.
 */
static bool
read_mapping(const char *line, PlhCodeRange *mapping)
{
	static const char anonymous[] = " r--p 00000000 00:00 0";
	char	   *rest;

	mapping->start = strtoull(line, &rest, 16);
	if (*rest == '-')
		rest++;
	mapping->end = strtoull(rest, &rest, 16);
	if (strncmp(rest, anonymous, sizeof(anonymous) - 1) != 0)
		return false;
	rest += sizeof(anonymous) - 1;
	return rest[strspn(rest, " ")] == '\0';
}

/* Look through a text of whole lines of /proc/self/maps, which ends with '\0'. */
static bool
search_mappings(char *text, uintptr_t target, FoundFunction *found)
{
	char	   *line_end;

	for (; (line_end = strchr(text, '\n')) != NULL; text = line_end + 1)
	{
		PlhCodeRange mapping;

		*line_end = '\0';
		if (read_mapping(text, &mapping) && search_memory(&mapping, target, found))
		{
			hints[next_hint] = mapping;
			next_hint = (next_hint + 1) % HINTS;
			return true;
		}
	}
	return false;
}

static bool
search_maps(uintptr_t target, FoundFunction *found)
{
	char		text[8192];
	Size		kept = 0;		/* of the text: the start of a line */
	Size		read_bytes = 0;
	ssize_t		length;
	int			fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while (read_bytes < MAX_MAPS_BYTES &&
		   (length = plh_whole_io_read(fd, text + kept, sizeof(text) - 1 - kept,
									   PLH_FILE_POSITION)) > 0)
	{
		char	   *rest;
		char		cut;

		read_bytes += length;
		length += kept;
		text[length] = '\0';
		rest = strrchr(text, '\n');
		if (rest == NULL)
			break;				/* no name of a file is so long */
		rest++;
		cut = *rest;
		*rest = '\0';
		if (search_mappings(text, target, found))
			break;
		*rest = cut;
		kept = text + length - rest;
		memmove(text, rest, kept);
	}
	close(fd);
	return found->fde != 0;
}

static pg_noinline bool
search_compiled(uintptr_t target, FoundFunction *found)
{
	memset(found, 0, sizeof(*found));
	searched_bytes = 0;
	for (int i = 0; i < HINTS; i++)
		if (hints[i].start != 0 && search_memory(&hints[i], target, found))
			return true;
	return search_maps(target, found);
}

/* Make a rule by an FDE, if it still is where it was. */
static bool
read_found(const FoundFunction *found, uintptr_t target, PlhUnwindRule *rule)
{
	uint8		copy[2 * MAX_ENTRY_BYTES];
	uint8	   *cie = copy + found->fde_bytes;
	PlhFrameTables tables = {
		copy, cie, found->fde - (uintptr_t) copy
	};
	PlhCodeRange code;

	if (!plh_own_memory_copy(copy, (const void *) found->fde, found->fde_bytes) ||
		!plh_own_memory_copy(cie, (const void *) found->cie, found->cie_bytes) ||
		entry_bytes(copy, cie) != found->fde_bytes ||
		!is_cie(cie, entry_bytes(cie, cie + found->cie_bytes)) ||
		(uintptr_t) plh_call_frame_info_cie(copy) +
		tables.displacement != found->cie ||
		!plh_call_frame_info_range(&tables, &code) || !plh_code_range_has(&code, target))
		return false;
	plh_call_frame_info_rule(&tables, target, rule);
	return rule->kind != PLH_RULE_UNSUPPORTED;
}

/* Returns what was found of code that has an address, if that still is the case. */
static bool
find_again(uintptr_t target, PlhUnwindRule *rule)
{
	for (int i = 0; i < MAX_FOUND; i++)
		if (plh_code_range_has(&found_functions[i].code, target))
		{
			if (read_found(&found_functions[i], target, rule))
				return true;
			memset(&found_functions[i], 0, sizeof(found_functions[i]));
		}
	return false;
}

/*
 * Make the rule of a return address that lies in no module.  Returns false if it is not in code
 * that was compiled with tables for unwinding.
 */
static bool
find_compiled_rule(uintptr_t return_address, PlhUnwindRule *rule)
{
	uintptr_t	target = return_address - 1;
	FoundFunction found;

	memset(rule, 0, sizeof(*rule));
	rule->address = return_address;
	if (find_again(target, rule))
		return true;
	if (searches_skipped < searches_to_skip)
	{
		searches_skipped++;
		return false;
	}
	searches_skipped = 0;
	if (!search_compiled(target, &found) || !read_found(&found, target, rule))
	{
		searches_to_skip = Min(searches_to_skip * 2 + 1, MAX_SKIPPED);
		return false;
	}
	searches_to_skip = 0;
	found_functions[next_found] = found;
	next_found = (next_found + 1) % MAX_FOUND;
	return true;
}

#else

static void
find_rule(PlhUnwindRule *rule)
{
}

static bool
find_compiled_rule(uintptr_t return_address, PlhUnwindRule *rule)
{
	return false;
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
		!find_compiled_rule(frame->at.address, &rule) ||
		rule.kind != PLH_RULE_CALLER || !step(walk, frame, &rule, first_pointer))
		return false;
	compiled->index = walk->depth - 1;
	compiled->caller = frame->at;
	walk->compiled_count++;
	return true;
}

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

/* To at most "max_depth" frames.  Returns false if there is one that rules are not for. */
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
