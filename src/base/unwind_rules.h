/*
 * unwind_rules.h
 *	  How to get from a frame of the stack to its caller, by the tables for
 *	  unwinding that modules have.
 *
 * A rule is what libunwind would find out for the same return address.  Only plain
 * ones are made, which is what compilers emit for functions of C; all other frames
 * are libunwind's.
 *
 * These functions may be called inside palloc; they never palloc, throw or lock,
 * and are not reentrant.
 */
#ifndef PLH_UNWIND_RULES_H
#define PLH_UNWIND_RULES_H

/* There are rules for this architecture only. */
#if defined(__x86_64__) && defined(__linux__)
#define PLH_HAVE_UNWIND_RULES 1
#else
#define PLH_HAVE_UNWIND_RULES 0
#endif

typedef enum PlhUnwindRuleKind
{
	PLH_RULE_ODD,				/* libunwind has to find the caller */
	PLH_RULE_CALLER,			/* the rule says where the caller's frame is */
	PLH_RULE_OUTERMOST			/* there is no caller */
} PlhUnwindRuleKind;

/*
 * The canonical frame address (CFA) is that of the caller's stack pointer.  The
 * return address lies right below it.
 */
typedef struct PlhUnwindRule
{
	uintptr_t	address;		/* return address; 0: no rule yet */
	int32		cfa_offset;		/* from the stack or the frame pointer */
	int32		saved_offset;	/* from the CFA, of the caller's frame
								 * pointer; 0: it still has it */
	uint8		kind;			/* PlhUnwindRuleKind */
	bool		from_frame_pointer; /* the CFA is computed from that */
	bool		is_trusted;		/* a walk over it has equalled libunwind's */
} PlhUnwindRule;

extern PlhUnwindRule *plh_unwind_rules_find(uintptr_t return_address);
extern void plh_unwind_rules_forget(void);

#endif							/* PLH_UNWIND_RULES_H */
