/*
 * otel_memory.c
 *	  The USDT probes otel_memory:alloc and otel_memory:free.
 *
 * This code runs inside palloc, malloc and free.
 *
 * Each probe is in one function, which is not inlined, so that it has one place and one note.  The
 * first version of OpenTelemetry's profiler does not read in the note where the arguments are: it
 * takes them from the registers that the platform passes arguments of functions in.  So they are in
 * these, which also makes the text of the note the same for each compiler.
 */
#include "postgres.h"

#include "base/fork.h"
#include "sampler/otel_memory.h"

/* The registers, and how a note says that 8 bytes are in one.  An asm's text has %% for %. */
#if defined(__x86_64__)
#define FIRST "rdi"
#define SECOND "rsi"
#define THIRD "rdx"
#define IN(register_name) "8@%%" register_name
#elif defined(__aarch64__)
#define FIRST "x0"
#define SECOND "x1"
#define THIRD "x2"
#define IN(register_name) "8@" register_name
#endif

/* The kernel counts listeners in what is mapped from the module's file, so not in .bss. */
#define LISTENERS __attribute__((section(".probes")))

/* The kernel writes to them, and mends what a child has copied from its parent. */
PLH_SURVIVES_FORK volatile uint16 plh_otel_memory_alloc_listeners LISTENERS = 0;
PLH_SURVIVES_FORK volatile uint16 plh_otel_memory_free_listeners LISTENERS = 0;

/* By the place of this section readers of notes see if addresses in the file have been moved. */
static const char base[1] __attribute__((section(".stapsdt.base"), used)) = "";

/*
 * Pass a probe, with operands in registers.  The format is SystemTap's: an instruction that does
 * nothing, and a note of type 3, with the addresses of the instruction, of the section above and of
 * the count of listeners, and three texts.  Such notes are not loaded into memory, and strip keeps
 * them.
 */
#define PASS(name, listeners, arguments, ...) \
	__asm__ volatile ( \
		"990:	nop\n" \
		"	.pushsection .note.stapsdt, \"\", \"note\"\n" \
		"	.balign 4\n" \
		"	.4byte 992f - 991f, 994f - 993f, 3\n" \
		"991:	.asciz \"stapsdt\"\n" \
		"992:	.balign 4\n" \
		"993:	.8byte 990b, .stapsdt.base, " listeners "\n" \
		"	.asciz \"otel_memory\", \"" name "\", \"" arguments "\"\n" \
		"994:	.balign 4\n" \
		"	.popsection\n" \
		: : __VA_ARGS__)

/* The weight is what live_bytes has of the sample. */
pg_noinline void
plh_otel_memory_tell_alloc(const void *pointer, Size size, PlhDraw draw)
{
	uint64		weight = plh_sampling_value(size, draw).weight * (uint64) size;
	register const void *first __asm__(FIRST) = pointer;
	register uint64 second __asm__(SECOND) = size;
	register uint64 third __asm__(THIRD) = weight;

	PASS("alloc", "plh_otel_memory_alloc_listeners", IN(FIRST) " " IN(SECOND) " " IN(THIRD),
		 "r"(first), "r"(second), "r"(third));
}

pg_noinline void
plh_otel_memory_tell_free(const void *pointer)
{
	register const void *first __asm__(FIRST) = pointer;

	PASS("free", "plh_otel_memory_free_listeners", IN(FIRST), "r"(first));
}
