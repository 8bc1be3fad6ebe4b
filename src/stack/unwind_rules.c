/*
 * unwind_rules.c
 *	  How to get from a frame of the stack to its caller, by the tables for
 *	  unwinding that modules have.
 *
 * This code runs inside palloc.
 *
 * A module's .eh_frame_hdr has a sorted list of its functions, each with the place of
 * its FDE.  The modules' list is our own (modules.h), as libgcc's search takes
 * a lock, and allocates, once JIT-compiled code is registered.  What lies outside of
 * modules has no rule here.
 */
#include "postgres.h"

#include <dwarf.h>

#include "base/fork.h"
#include "base/page_layout.h"
#include "stack/modules.h"
#include "stack/unwind_rules.h"

/*
 * Rules are kept by return address, in sets, of which the oldest one gives way to a new
 * one.  A rule that was given up has to be trusted anew when it is needed again, for
 * which libunwind walks over a whole stack.  With one rule for each hash, that took
 * half of the time of all captures at the default interval.
 */
#define SET_BITS 9
#define WAYS 4

static PLH_SAME_IN_CHILD PLH_LARGE PlhUnwindRule rules[1 << SET_BITS][WAYS];

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
 * Make the rule of a return address, which stays unsupported where there is no table.
 * Where there is no module, one may be later: then the rule is not kept.
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

/*
 * Returns the rule of a return address, valid until the next call.
 */
PlhUnwindRule *
plh_unwind_rules_find(uintptr_t return_address)
{
	uint64		hash = return_address * UINT64CONST(0x9E3779B97F4A7C15);
	PlhUnwindRule *set = rules[hash >> (64 - SET_BITS)];

	for (int i = 0; i < WAYS; i++)
	{
		if (likely(set[i].address == return_address))
			return &set[i];
	}
	memmove(set + 1, set, sizeof(PlhUnwindRule) * (WAYS - 1));
	memset(set, 0, sizeof(PlhUnwindRule));
	set->address = return_address;
	find_rule(set);
	return set;
}

/*
 * Forget all rules, as a module was unloaded: other code may lie there now.
 */
void
plh_unwind_rules_forget(void)
{
	memset(rules, 0, sizeof(rules));
}
