/*
 * call_frame_info.h
 *	  What the tables for unwinding say of an address.
 *
 * A rule is what libunwind would find out for the same return address.  Only plain ones are made,
 * which is what compilers emit for functions of C; all other frames are libunwind's.
 *
 * These functions may be called inside palloc; they never palloc, throw or lock.
 */
#pragma once

/* There are rules for this architecture only; a test does without. */
#ifndef PLH_HAVE_UNWIND_RULES
#if defined(__x86_64__) && defined(__linux__)
#define PLH_HAVE_UNWIND_RULES 1
#else
#define PLH_HAVE_UNWIND_RULES 0
#endif
#endif

typedef enum PlhUnwindRuleKind
{
	PLH_RULE_UNSUPPORTED,		/* libunwind has to find the caller */
	PLH_RULE_NO_MODULE,			/* the code is in no module */
	PLH_RULE_CALLER,			/* the rule says where the caller's frame is */
	PLH_RULE_OUTERMOST			/* there is no caller */
} PlhUnwindRuleKind;

/*
 * The canonical frame address (CFA) is that of the caller's stack pointer.  The return address lies
 * right below it.
 */
typedef struct PlhUnwindRule
{
	uintptr_t	address;		/* return address; 0: no rule yet */
	int32		cfa_offset;		/* from the stack or the frame pointer */
	int32		saved_offset;	/* of the frame pointer, from the CFA; 0: kept */
	uint8		kind;			/* PlhUnwindRuleKind */
	bool		from_frame_pointer; /* the CFA is computed from that */
	bool		is_trusted;		/* a walk over it has equalled libunwind's */
} PlhUnwindRule;

/* What the tables have of a function, each from its length on. */
typedef struct PlhFrameTables
{
	const uint8 *fde;
	const uint8 *cie;			/* which it shares with others */
	intptr_t	displacement;	/* of a copy: how far from there the FDE is */
} PlhFrameTables;

/* The addresses of a function, or of other code. */
typedef struct PlhCodeRange
{
	uintptr_t	start;
	uintptr_t	end;
} PlhCodeRange;

static inline bool
plh_code_range_has(const PlhCodeRange *range, uintptr_t address)
{
	return address >= range->start && address < range->end;
}

extern const uint8 *plh_call_frame_info_cie(const uint8 *fde);
extern bool plh_call_frame_info_range(const PlhFrameTables *tables, PlhCodeRange *range);
extern void plh_call_frame_info_rule(const PlhFrameTables *tables,
									 uintptr_t target, PlhUnwindRule *rule);
