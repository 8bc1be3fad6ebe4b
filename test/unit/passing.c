/*
 * passing.c
 *	  A library with a function that only calls another one.  run_stacks loads it twice,
 *	  with frames of different sizes, but the same addresses: the size of the frame is
 *	  no part of where an instruction lies.
 */
#ifdef __x86_64__

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* void pass_on(int number, void (*other) (int)) */
asm(".text\n"
	".globl pass_on\n"
	".type pass_on, @function\n"
	"pass_on:\n"
	".cfi_startproc\n"
	"sub $" TEXT(FRAME_BYTES) ", %rsp\n"
	".cfi_def_cfa_offset " TEXT(FRAME_BYTES) " + 8\n"
	"call *%rsi\n"
	"add $" TEXT(FRAME_BYTES) ", %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size pass_on, . - pass_on\n");

#endif
