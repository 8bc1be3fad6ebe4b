/*
 * unwind.c
 *	  The stack of the running function, through libunwind.
 *
 * plh_unwind_capture and plh_unwind_trim run inside palloc.
 *
 * The innermost frames are ours and the allocator's.  They are skipped by
 * address range and not by count, as their number depends on inlining and on
 * which of palloc's many entry points was called.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "base/limits.h"
#include "base/server_functions.h"
#include "base/unwind.h"

typedef struct CodeRange
{
	uintptr_t	start;
	uintptr_t	end;
} CodeRange;

/* Our own code, and that of the library that is preloaded. */
#define MAX_OWN_TEXTS 2
static CodeRange own_texts[MAX_OWN_TEXTS];
static int	own_text_count;

static CodeRange allocator_ranges[PLH_SERVER_MAX_ALLOCATORS];
static int	allocator_range_count;

/* This range goes from the first of the allocator's functions to the last. */
static CodeRange allocator_span;

static bool
is_in_range(uintptr_t address, const CodeRange *range)
{
	return address >= range->start && address < range->end;
}

static bool
is_skipped(uintptr_t address)
{
	for (int i = 0; i < own_text_count; i++)
	{
		if (is_in_range(address, &own_texts[i]))
			return true;
	}
	if (!is_in_range(address, &allocator_span))
		return false;
	for (int i = 0; i < allocator_range_count; i++)
	{
		if (is_in_range(address, &allocator_ranges[i]))
			return true;
	}
	return false;
}

/* This dl_iterate_phdr callback finds the segment of an address, and skips it. */
static int
find_own_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t	own = (uintptr_t) arg;
	CodeRange  *own_text = &own_texts[own_text_count];

	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const Elf64_Phdr *segment = &info->dlpi_phdr[i];
		uintptr_t	start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
			own >= start && own < start + segment->p_memsz)
		{
			own_text->start = start;
			own_text->end = start + segment->p_memsz;
			own_text_count++;
			return 1;
		}
	}
	return 0;
}

/* Skip the frames of a function from now on, if the server has it. */
static void
add_allocator(const char *name)
{
	CodeRange  *range = &allocator_ranges[allocator_range_count];
	void	   *address = dlsym(RTLD_DEFAULT, name);
	Dl_info		info;
	const Elf64_Sym *symbol = NULL;

	if (address == NULL ||
		dladdr1(address, &info, (void **) &symbol, RTLD_DL_SYMENT) == 0 ||
		symbol == NULL)
		return;
	range->start = (uintptr_t) address;
	range->end = (uintptr_t) address + symbol->st_size;

	allocator_span.start = Min(allocator_span.start, range->start);
	allocator_span.end = Max(allocator_span.end, range->end);
	allocator_range_count++;
}

/* Find the allocator's functions in the server's dynamic symbols. */
static void
find_allocator(void)
{
	const PlhServerFunction *function = NULL;

	Assert(plh_server_functions_are_sorted());
	allocator_range_count = 0;
	allocator_span.start = UINTPTR_MAX;
	allocator_span.end = 0;
	while (allocator_range_count < lengthof(allocator_ranges) &&
		   (function = plh_server_functions_next(function,
												 PLH_SERVER_ALLOCATOR)) != NULL)
		add_allocator(function->name);

	/* the ranges had room for all of them */
	Assert(function == NULL);
}

/*
 * Skip the frames of the module that has an address in its code.
 */
void
plh_unwind_skip_text_of(const void *address)
{
	Assert(own_text_count < MAX_OWN_TEXTS);
	(void) dl_iterate_phdr(find_own_text, (void *) address);
}

/*
 * Find where the function with an address begins and ends, by the tables for
 * unwinding.  Returns false if they don't say.
 */
bool
plh_unwind_function_of(uintptr_t address, uintptr_t *start, uintptr_t *end)
{
	unw_proc_info_t info;

	if (unw_get_proc_info_by_ip(unw_local_addr_space, address, &info, NULL) != 0)
		return false;
	*start = info.start_ip;
	*end = info.end_ip;
	return true;
}

/*
 * Learn which frames to skip, and unwind once, so that libunwind sets itself
 * up here and not inside a palloc.
 */
void
plh_unwind_start(void)
{
	PlhStack	stack;

	plh_unwind_skip_text_of(find_own_text);
	Assert(is_skipped((uintptr_t) find_own_text));
	find_allocator();
	(void) plh_unwind_capture(&stack, PLH_MAX_FRAMES);
}

/*
 * Capture the stack of the caller, of which "max_depth" frames are wanted, no
 * more than PLH_MAX_FRAMES.  Returns the number of captured frames, which
 * plh_unwind_trim needs.  The call of libunwind is a tail call, so that it has
 * one frame less to step over.  It captures one frame more than is wanted:
 * that one shows that the stack is deeper.
 */
int
plh_unwind_capture(PlhStack *stack, int max_depth)
{
	Assert(max_depth > 0 && max_depth <= PLH_MAX_FRAMES);
	return unw_backtrace((void **) stack->buffer,
						 max_depth + PLH_MAX_SKIPPED + 1);
}

/*
 * Cut a captured stack to the function that called the allocator and the
 * wanted depth.  The return addresses stay where libunwind put them: at
 * interval 1 even a copy of 20 words shows.
 */
void
plh_unwind_trim(PlhStack *stack, int captured, int max_depth)
{
	int			skipped = 0;

	Assert(captured <= lengthof(stack->buffer));
	while (skipped < captured && skipped < PLH_MAX_SKIPPED &&
		   is_skipped(stack->buffer[skipped] - 1))
		skipped++;

	stack->addresses = stack->buffer + skipped;
	stack->truncated = captured - skipped > max_depth;
	stack->depth = Min(captured - skipped, max_depth);
}
