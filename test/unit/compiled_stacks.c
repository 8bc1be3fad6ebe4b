/*
 * compiled_stacks.c
 *	  Stacks through code that comes and goes: such as LLVM compiles, which lies in no
 *	  module, and that of libraries that take each other's place.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <sys/mman.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "stack/call_frame_info.h"
#include "stacks.h"
#include "tap.h"

/* What lies outwards on a stack, from a function on. */
int
outer(const PlhStack *stack, uintptr_t function, const uintptr_t **addresses)
{
	PlhCodeRange code = {0};
	int			i = 0;

	(void) plh_unwind_function_of(function, &code);
	while (i < stack->depth && !plh_code_range_has(&code, stack->addresses[i]))
		i++;
	*addresses = stack->addresses + i;
	return stack->depth - i;
}

#ifdef __x86_64__

/* A function that was compiled, or is in a library: it calls the other one. */
typedef void (*CompiledFunction) (int number, void (*other) (int));

/* What the stack was where the compiled code was called from. */
static uintptr_t callers[DEPTH];
static int	caller_count;
static int	expected_compiled;
static int	passed;				/* frames from there on inwards */
static bool was_right;
static bool was_known;

/* Is the stack whole, with compiled code where it has to be? */
static pg_noinline void
check_stack(int number)
{
	const uintptr_t *addresses;
	PlhStack	stack;
	int			compiled = 0;

	plh_unwind_capture(&stack, DEPTH, true);
	for (int i = 0; i < stack.depth; i++)
		compiled += stack.addresses[i] == PLH_COMPILED_CODE;
	was_known = stack.known != NULL;
	passed = outer(&stack, (uintptr_t) check_stack, &addresses) - caller_count;
	was_right = compiled == expected_compiled && stack.depth > caller_count &&
		memcmp(stack.addresses + stack.depth - caller_count, callers,
			   caller_count * sizeof(uintptr_t)) == 0;
}

/*
 * Call code, of which "compiled" functions were compiled.  Its stack must go on behind this
 * function.
 */
static pg_noinline void
call_code(CompiledFunction function, void (*other) (int), int compiled)
{
	PlhStack	stack;
	const uintptr_t *addresses;

	/* capture_all would look for modules that were unloaded */
	stack.depth = unw_backtrace((void **) stack.buffer, lengthof(stack.buffer));
	stack.addresses = stack.buffer;
	caller_count = outer(&stack, (uintptr_t) call_code, &addresses) - 1;
	memcpy(callers, addresses + 1, caller_count * sizeof(uintptr_t));
	expected_compiled = compiled;
	function(1, other);
	asm volatile ("");
}

/* Load a library beside a program.  Returns its function. */
static CompiledFunction
load(const char *program, const char *name, void **library)
{
	char		path[MAXPGPATH];
	int			folder_bytes = strrchr(program, '/') - program;

	snprintf(path, sizeof(path), "%.*s/%s", folder_bytes, program, name);
	*library = dlopen(path, RTLD_NOW);
	return *library == NULL ? NULL : (CompiledFunction) dlsym(*library, "pass_on");
}

static CompiledFunction in_library;

/* Jump to the library, which leaves no frame between two of its own. */
static pg_noinline void
pass_on_again(int number)
{
	in_library(number, check_stack);
}

/* Is the stack right, if the library is on it once or twice, between two functions? */
static bool
is_right_through_library(int times)
{
	call_code(in_library, times == 2 ? pass_on_again : check_stack, 0);
	return was_right && passed == times + 2;
}

/*
 * A library is unloaded, and another one takes its place: what was known of its
 * addresses holds no more, neither for us nor for libunwind.  One frame of the first is
 * as large as two of the other.
 */
void
test_other_library(const char *program)
{
	void	   *library;
	CompiledFunction large = load(program, "passing_large.so", &library);
	bool		right = large != NULL;

	in_library = large;
	for (int i = 0; right && i < 3; i++)
		right = is_right_through_library(1);
	ok(right && was_known == PLH_HAVE_UNWIND_RULES, "a stack goes through a library");
	if (!right)
		return;
	dlclose(library);
	in_library = load(program, "passing_small.so", &library);
	ok(in_library == large, "another library takes the place of the one before");
	ok(is_right_through_library(2), "a stack goes through the library in the place of another");
	for (int i = 0; i < 3; i++)
		right &= is_right_through_library(2);
	ok(right && was_known == PLH_HAVE_UNWIND_RULES, "a stack through the library in the place of another is remembered");
	dlclose(library);
	in_library = load(program, "passing_large.so", &library);
	ok(in_library == large, "the first library comes back");
	ok(is_right_through_library(1), "a stack through the first library is not taken for one of the other");
	ok(plh_unwind_wrong_stacks == 0, "no stack was wrong while libraries came and went");
	dlclose(library);
}

#endif							/* __x86_64__ */

#if PLH_HAVE_UNWIND_RULES

/* A page of code and one with its table, as LLVM makes them. */
#define PAGE_BYTES 4096
#define COMMON_BYTES 24
#define FUNCTION_BYTES 48
#define AUGMENTATION_OFFSET 24
static uint8 *pages;

/*
 * Compile a function with a frame of that size, "place" bytes into its page, where
 * another one may have been.  Without a table its caller can't be found.
 */
static CompiledFunction
compile(int place, uint8 frame_bytes, bool has_table)
{
	uint8		code[] = {
		0x48, 0x83, 0xec, frame_bytes,	/* sub $frame_bytes,%rsp */
		0xff, 0xd6,				/* call *%rsi */
		0x48, 0x83, 0xc4, frame_bytes,	/* add $frame_bytes,%rsp */
		0xc3					/* ret */
	};
	static const uint8 common[COMMON_BYTES] = {
		0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1c,
		0x0c, 7, 8, 0x90, 1, 0, 0
	};
	uint8		function[FUNCTION_BYTES] = {
		FUNCTION_BYTES - 4, 0, 0, 0, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		sizeof(code), 0, 0, 0, 0, 0, 0, 0, 0,
		0x44, 0x0e, frame_bytes + 8
	};
	uint8	   *start = pages + place;
	uint8	   *table = pages + PAGE_BYTES + place;
	int64		distance = start - (table + sizeof(common) + 8);

	memcpy(function + 8, &distance, sizeof(distance));
	mprotect(pages, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE);
	memcpy(start, code, sizeof(code));
	memset(table, 0, sizeof(common) + sizeof(function));
	if (has_table)
	{
		memcpy(table, common, sizeof(common));
		memcpy(table + sizeof(common), function, sizeof(function));
	}
	mprotect(pages, PAGE_BYTES, PROT_READ | PROT_EXEC);
	mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_READ);
	return (CompiledFunction) start;
}

/*
 * Let the augmentation of a function's description have so many bytes that it ends
 * before memory begins: addresses wrap around.
 */
static void
damage_table(int place)
{
	uint8	   *augmentation = pages + PAGE_BYTES + place + COMMON_BYTES +
		AUGMENTATION_OFFSET;
	uint64		bytes = -(uint64) (uintptr_t) augmentation;

	mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE);
	for (; bytes >= 0x80; bytes >>= 7)
		*augmentation++ = (bytes & 0x7f) | 0x80;
	*augmentation = bytes;
	mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_READ);
}

/* Take the memory of compiled code, or give it back. */
static void
begin_to_compile(void)
{
	pages = mmap(pages, 2 * PAGE_BYTES, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | (pages != NULL ? MAP_FIXED : 0),
				 -1, 0);
}

static CompiledFunction inner;

static pg_noinline void
call_inner(int number)
{
	inner(number, check_stack);
	asm volatile ("");
}

static void
call_compiled(CompiledFunction function, void (*other) (int))
{
	call_code(function, other, other == call_inner ? 2 : 1);
}

void
test_compiled_code(void)
{
	CompiledFunction function;

	begin_to_compile();
	function = compile(0, 24, true);
	for (int i = 0; i < 3; i++)
		call_compiled(function, check_stack);
	ok(was_right && was_known, "a stack goes on behind code that was compiled at run time");
	(void) compile(0, 88, true);
	call_compiled(function, check_stack);
	ok(was_right, "a stack goes on behind other compiled code at the same place");
	begin_to_compile();
	function = compile(0, 40, true);
	call_compiled(function, check_stack);
	ok(was_right, "a stack goes on behind compiled code in other memory at the same place");

	inner = compile(128, 104, true);
	function = compile(0, 40, true);
	for (int i = 0; i < 3; i++)
		call_compiled(function, call_inner);
	ok(was_right && was_known, "two compiled functions can be on a stack");
	function = compile(512, 56, true);
	call_compiled(function, call_inner);
	ok(was_right, "the table of compiled code is looked for again");

	function = compile(0, 72, true);
	damage_table(0);
	call_compiled(function, check_stack);
	ok(!was_known, "a stack over a damaged table is not remembered");
	function = compile(0, 24, false);
	call_compiled(function, check_stack);
	ok(!was_known, "a stack over code without a table is left to libunwind");
	begin_to_compile();
	function = compile(0, 24, true);
	for (int i = 0; i < 10 && !was_right; i++)
		call_compiled(function, check_stack);
	ok(was_right, "stacks are right again soon after a table that was missing");
	ok(plh_unwind_wrong_stacks == 0, "stacks with compiled code are right when they are compared");
}

#endif							/* PLH_HAVE_UNWIND_RULES */
