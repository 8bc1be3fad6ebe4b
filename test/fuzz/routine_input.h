/*
 * routine_input.h
 *	  An input of fuzz_routines: where the first callback lies, in two bytes, and these.
 */
#ifndef ROUTINE_INPUT_H
#define ROUTINE_INPUT_H

/* The memory: something, nothing, and the stack. */
#define ROUTINE_INPUT_GAP_BYTES 4096
#define ROUTINE_INPUT_OTHER_BYTES 8192
#define ROUTINE_INPUT_STACK (ROUTINE_INPUT_OTHER_BYTES + ROUTINE_INPUT_GAP_BYTES)
#define ROUTINE_INPUT_STACK_BYTES 8192
#define ROUTINE_INPUT_BYTES (ROUTINE_INPUT_STACK + ROUTINE_INPUT_STACK_BYTES)

/* What a word is. */
enum
{
	ROUTINE_INPUT_NUMBER,
	ROUTINE_INPUT_POINTER,		/* to that place of the memory */
	ROUTINE_INPUT_FUNCTION,		/* that calls SQL */
	ROUTINE_INPUT_TAG,			/* of a trigger's data */
	ROUTINE_INPUT_KINDS
};

typedef struct RoutineInput
{
	uint64		value;
	uint16		at;				/* of the memory */
	uint16		kind;
} __attribute__((packed)) RoutineInput;

#endif							/* ROUTINE_INPUT_H */
