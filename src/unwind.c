/*
 * unwind.c
 *	  The stack of the running function, through libunwind.
 *
 * plh_unwind_capture runs inside palloc.
 *
 * The innermost frames are ours and the allocator's.  They are skipped by
 * address range, not by count: how many there are depends on inlining and on
 * which of palloc's many entry points was called.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "unwind.h"

/*
 * The allocator's entry points: what a palloc call passes through before it
 * reaches a context's methods, in any supported version.  Helpers built on
 * top (pstrdup, lappend, ...) are not among them: they stay in the stack.
 */
static const char *const allocator_functions[] = {
	"palloc", "palloc0", "palloc_aligned", "palloc_extended",
	"palloc_mul", "palloc0_mul", "palloc_mul_extended",
	"repalloc", "repalloc0", "repalloc_extended", "repalloc_huge",
	"repalloc_mul", "repalloc_mul_extended",
	"MemoryContextAlloc", "MemoryContextAllocAligned",
	"MemoryContextAllocExtended", "MemoryContextAllocHuge",
	"MemoryContextAllocZero", "MemoryContextAllocZeroAligned"
};

typedef struct CodeRange
{
	uintptr_t	start;
	uintptr_t	end;
} CodeRange;

/* Our own text first, then the allocator's functions. */
static CodeRange skipped_ranges[lengthof(allocator_functions) + 1];
static int	skipped_range_count;

static bool
is_skipped(uintptr_t address)
{
	for (int i = 0; i < skipped_range_count; i++)
	{
		if (address >= skipped_ranges[i].start &&
			address < skipped_ranges[i].end)
			return true;
	}
	return false;
}

/* Add a range, or extend the last one where the new one follows it. */
static void
skip_range(uintptr_t start, uintptr_t end)
{
	/* functions are padded to 16 bytes */
	if (skipped_range_count > 0 &&
		start >= skipped_ranges[skipped_range_count - 1].end &&
		start - skipped_ranges[skipped_range_count - 1].end < 16)
		skipped_ranges[skipped_range_count - 1].end = end;
	else
	{
		skipped_ranges[skipped_range_count].start = start;
		skipped_ranges[skipped_range_count].end = end;
		skipped_range_count++;
	}
}

/* dl_iterate_phdr callback: skip the segment that holds this very function. */
static int
find_own_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t	own = (uintptr_t) find_own_text;

	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t	start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
			own >= start && own < start + segment->p_memsz)
		{
			skip_range(start, start + segment->p_memsz);
			return 1;
		}
	}
	return 0;
}

static int
compare_ranges(const void *a, const void *b)
{
	uintptr_t	left = ((const CodeRange *) a)->start;
	uintptr_t	right = ((const CodeRange *) b)->start;

	return left < right ? -1 : left > right;
}

/* Find the allocator's functions in the server's dynamic symbols. */
static void
find_allocator(void)
{
	CodeRange	found[lengthof(allocator_functions)];
	int			count = 0;

	for (int i = 0; i < lengthof(allocator_functions); i++)
	{
		void	   *address = dlsym(RTLD_DEFAULT, allocator_functions[i]);
		Dl_info		info;
		const		ElfW(Sym) *symbol = NULL;

		/* not every version has every function */
		if (address == NULL ||
			dladdr1(address, &info, (void **) &symbol, RTLD_DL_SYMENT) == 0 ||
			symbol == NULL)
			continue;
		found[count].start = (uintptr_t) address;
		found[count].end = (uintptr_t) address + symbol->st_size;
		count++;
	}

	qsort(found, count, sizeof(CodeRange), compare_ranges);
	for (int i = 0; i < count; i++)
		skip_range(found[i].start, found[i].end);
}

/*
 * Learn what to skip, and unwind once so that libunwind sets itself up here
 * and not inside a palloc.
 */
void
plh_unwind_start(void)
{
	PlhStack	stack;

	skipped_range_count = 0;
	(void) dl_iterate_phdr(find_own_text, NULL);
	find_allocator();
	plh_unwind_capture(&stack, PLH_MAX_FRAMES);
}

/*
 * Store the stack of the function that called the allocator: the innermost
 * "max_depth" frames of it, which must not be more than PLH_MAX_FRAMES.  The
 * return addresses stay where libunwind put them: at interval 1 even a copy
 * of 20 words shows.
 */
void
plh_unwind_capture(PlhStack *stack, int max_depth)
{
	int			count = unw_backtrace((void **) stack->buffer,
									  max_depth + PLH_MAX_SKIPPED + 1);
	int			skipped = 0;

	while (skipped < count && skipped < PLH_MAX_SKIPPED &&
		   is_skipped(stack->buffer[skipped] - 1))
		skipped++;

	stack->addresses = stack->buffer + skipped;
	stack->truncated = count - skipped > max_depth;
	stack->depth = Min(count - skipped, max_depth);
}
