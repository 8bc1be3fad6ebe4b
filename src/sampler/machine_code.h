/*
 * machine_code.h
 *	  Writes what each palloc, pfree, malloc and free does as machine code.
 *
 * A function of that kind has two parts: a step, which changes or compares a number
 * of the process, and a branch, which goes on to one of two other functions.  It calls
 * nothing and has no frame: no return address ever leads into it, and nobody who walks
 * over a stack meets it.
 *
 * Called when pg_leakhunt is loaded, never inside palloc.  Nothing here pallocs or
 * throws.  There is such code for x86-64 only.
 */
#ifndef PLH_MACHINE_CODE_H
#define PLH_MACHINE_CODE_H

typedef struct PlhMachineCode
{
	uint8	   *bytes;			/* what was written */
	Size		length;
	Size		room;
	uintptr_t	place;			/* where the first byte is to be run */
	bool		is_sound;		/* all fits, and is within reach */
} PlhMachineCode;

/* When a branch goes on to the next function. */
typedef enum PlhCondition
{
	PLH_IF_EQUAL = 0x84,
	PLH_IF_ABOVE = 0x87
} PlhCondition;

extern void plh_machine_code_start(PlhMachineCode *code, void *bytes, Size room,
								   const void *place);
extern void *plh_machine_code_align(PlhMachineCode *code, Size alignment);
extern void plh_machine_code_count_down(PlhMachineCode *code, int argument,
										const uint64 *counter);
extern void plh_machine_code_count_down_of_thread(PlhMachineCode *code, int argument,
												  const uint64 *counter);
extern void plh_machine_code_ask_filter(PlhMachineCode *code, int argument,
										const uint8 *filter);
extern void plh_machine_code_branch(PlhMachineCode *code, PlhCondition condition,
									const void *next, const void *elsewhere);

#endif							/* PLH_MACHINE_CODE_H */
