/*
 * unwind.c
 *	  The stack of the running function, through libunwind.
 *
 * plh_unwind_capture runs inside palloc.
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

#include "base/compiled_code.h"
#include "base/limits.h"
#include "base/modules.h"
#include "base/page_layout.h"
#include "base/server_functions.h"
#include "base/unwind.h"

/* Our own code, and that of the library that is preloaded. */
#define MAX_OWN_TEXTS 2
static PlhCodeRange own_texts[MAX_OWN_TEXTS];
static int	own_text_count;

static PLH_LARGE PlhCodeRange allocator_ranges[PLH_SERVER_MAX_ALLOCATORS];
static int	allocator_range_count;

/* This range goes from the first of the allocator's functions to the last. */
static PlhCodeRange allocator_span;

uint64		plh_unwind_compared_stacks;
uint32		plh_unwind_wrong_stacks;

/* So many modules were unloaded when what is known of code was last forgotten. */
static unsigned long long unloaded;

/* It was forgotten since libunwind was first asked. */
static bool was_forgotten;

static bool
is_in_range(uintptr_t address, const PlhCodeRange *range)
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
	PlhCodeRange *own_text = &own_texts[own_text_count];

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
	PlhCodeRange *range = &allocator_ranges[allocator_range_count];
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

/* How many of these addresses are frames of ours and of the allocator's. */
static int
count_skipped(const uintptr_t *addresses, int count)
{
	int			skipped = 0;

	while (skipped < count && skipped < PLH_MAX_SKIPPED &&
		   is_skipped(addresses[skipped] - 1))
		skipped++;
	return skipped;
}

/* libunwind is asked for one frame more than is wanted: that shows a deeper stack. */
static int
needed_frames(int max_depth)
{
	return max_depth + PLH_MAX_SKIPPED + 1;
}

/*
 * Other code may lie where a module was unloaded: forget rules, what is remembered by
 * them, and what libunwind has found out.
 */
static pg_noinline void
forget_code(void)
{
	unloaded = plh_modules_unloaded;
	was_forgotten = true;
	plh_unwind_rules_forget();
	plh_stack_memo_forget();
	unw_flush_cache(unw_local_addr_space, 0, 0);
}

/* Do so if a module was unloaded, as of the last look at them. */
static inline void
heed_unloads(void)
{
	if (unlikely(unloaded != plh_modules_unloaded))
		forget_code();
}

/* The same, as of now.  That takes the linker's lock, which is recursive. */
static inline void
look_for_unloads(void)
{
	plh_modules_refresh();
	heed_unloads();
}

/* Ask libunwind for one frame after the other.  Returns how many there are. */
static pg_noinline int
step_all(uintptr_t *addresses, int max_count)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t	address;
	int			count = 0;

	if (unw_getcontext(&context) != 0 ||
		unw_init_local(&cursor, &context) != 0)
		return 0;
	do
	{
		if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0)
			break;
		addresses[count++] = address;
	} while (count < max_count && unw_step(&cursor) > 0);
	return count;
}

/*
 * Ask libunwind for all frames from here on, and return how many there are.  What
 * unw_backtrace has noted of code it keeps for ever, while all else can be forgotten.
 */
static inline int
ask_libunwind(uintptr_t *addresses, int max_count)
{
	return unlikely(was_forgotten) ? step_all(addresses, max_count) :
		unw_backtrace((void **) addresses, max_count);
}

/* Capture a stack by libunwind. */
static pg_noinline void
capture_all(PlhStack *stack, int max_depth)
{
	int			captured;
	int			skipped;

	look_for_unloads();
	captured = ask_libunwind(stack->buffer,
							 needed_frames(max_depth) + PLH_MAX_OWN);
	skipped = count_skipped(stack->buffer, captured);
	Assert(captured <= lengthof(stack->buffer));
	stack->addresses = stack->buffer + skipped;
	stack->truncated = captured - skipped > max_depth;
	stack->depth = Min(captured - skipped, max_depth);
	stack->known = NULL;
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
	unloaded = plh_modules_unloaded;
	plh_stack_walk_learn_stack();
	plh_compiled_code_start();
	capture_all(&stack, PLH_MAX_FRAMES);
}

#if PLH_HAVE_UNWIND_RULES

/*
 * One in so many stacks that are remembered is compared with libunwind's; with
 * assertions, or -DPLH_COMPARED_HITS=1, all are, and new ones, too.
 */
#ifndef PLH_COMPARED_HITS
#ifdef USE_ASSERT_CHECKING
#define PLH_COMPARED_HITS 1
#else
#define PLH_COMPARED_HITS 1024
#endif
#endif

/* What may be remembered takes so many bytes. */
#define FREQUENT_BYTES ((Size) 1024 * 1024)
#define RARE_BYTES ((Size) 64 * 1024)

static uint32 hits;

/*
 * Are these addresses what libunwind finds?  That begins in this function and its callers,
 * until it comes to where the walk starts.
 */
static pg_noinline bool
is_right(const uintptr_t *expected, int depth, bool is_cut)
{
	uintptr_t	addresses[PLH_WALK_FRAMES + PLH_MAX_OWN + 1];
	int			captured = ask_libunwind(addresses, lengthof(addresses));
	int			own = 0;

	while (own < captured && own < PLH_MAX_OWN &&
		   addresses[own] != expected[0])
		own++;
	if (captured - own < depth || (captured - own > depth && !is_cut))
		return false;
	return memcmp(addresses + own, expected, depth * sizeof(uintptr_t)) == 0;
}

/* A stack was not what libunwind finds, though its rules are trusted. */
static void
do_without_memo(void)
{
	plh_unwind_wrong_stacks++;
	plh_stack_memo_forget();
	Assert(!"a stack that was remembered is wrong");
}

/* Are these addresses what libunwind finds from there on? */
static bool
is_right_from(const PlhStackStart *start, const uintptr_t *expected, int depth,
			  bool is_cut)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t	address;

	/* our rules are for frames that go by these registers only */
	memset(&context, 0, sizeof(context));
	context.uc_mcontext.gregs[REG_RIP] = start->address;
	context.uc_mcontext.gregs[REG_RSP] = start->stack_pointer;
	context.uc_mcontext.gregs[REG_RBP] = start->frame_pointer;
	if (unw_init_local(&cursor, &context) != 0)
		return false;
	for (int i = 0; i < depth; i++)
	{
		if ((i > 0 && unw_step(&cursor) <= 0) ||
			unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 ||
			address != expected[i])
			return false;
	}
	return is_cut || unw_step(&cursor) <= 0;
}

/*
 * Is a walk what libunwind finds?  That does not know the frames of compiled code,
 * and begins anew at the caller of each.
 */
static bool
is_right_walk(const PlhStackWalk *walk)
{
	int			part = 0;		/* where it starts */

	for (int i = 0; i <= walk->compiled_count; i++)
	{
		bool		is_last = i == walk->compiled_count;
		int			end = is_last ? walk->depth : walk->compiled[i].index + 1;
		bool		is_cut = !is_last || walk->is_cut;
		const uintptr_t *expected = walk->addresses + part;

		if (part == walk->depth)
			break;
		if (i == 0 ? !is_right(expected, end, is_cut) :
			!is_right_from(&walk->compiled[i - 1].caller, expected, end - part,
						   is_cut))
			return false;
		part = end;
	}
	return true;
}

/* May a walk be used?  If one of its rules is new, libunwind says so. */
static bool
is_sound(const PlhStackWalk *walk)
{
	bool		right;

	if (walk->is_trusted && PLH_COMPARED_HITS != 1)
		return true;
	plh_unwind_compared_stacks++;
	right = is_right_walk(walk);
	plh_stack_walk_judge(walk, right);
	if (!right && walk->is_trusted)
		do_without_memo();
	return right;
}

/* Walk over a stack that is not remembered, and remember it. */
static pg_noinline PlhStackMemo *
make_memo(const PlhStackStart *start, int max_depth, bool is_frequent)
{
	PlhStackWalk walk;
	PlhStackMemo *memo;

	look_for_unloads();
	if (!plh_stack_walk(&walk, start, needed_frames(max_depth)) ||
		!is_sound(&walk))
		return NULL;
	memo = plh_stack_memo_add(start, &walk, is_frequent ?
							  FREQUENT_BYTES : RARE_BYTES);
	if (memo != NULL)
	{
		memo->first = count_skipped(walk.addresses, walk.depth);
		memo->truncated = walk.depth - memo->first > max_depth;
		memo->depth = Min(walk.depth - memo->first, max_depth);
	}
	return memo;
}

/* Is a memo that has been found what libunwind finds? */
static pg_noinline bool
is_right_memo(const PlhStackMemo *memo, const PlhStackStart *start,
			  int max_depth)
{
	PlhStackWalk walk;

	if (memo->code_count == 0)
		return is_right(plh_stack_memo_addresses(memo), memo->address_count,
						memo->is_cut);
	/* the table of compiled code can't be found while no file can be opened */
	if (!plh_stack_walk(&walk, start, needed_frames(max_depth)))
		return true;
	return is_right_walk(&walk) && plh_stack_memo_is_of(memo, &walk);
}

/* Compare a memo with libunwind, now and then, and do without if it is wrong. */
static inline bool
is_confirmed(const PlhStackMemo *memo, const PlhStackStart *start,
			 int max_depth)
{
	if (likely(++hits % PLH_COMPARED_HITS != 0))
		return true;
	plh_modules_refresh();
	if (unloaded != plh_modules_unloaded)
		return false;			/* it may be of other code */
	plh_unwind_compared_stacks++;
	if (is_right_memo(memo, start, max_depth))
		return true;
	do_without_memo();
	return false;
}

/* Capture a stack that starts there by what is remembered.  Returns false if not. */
static bool
capture_known(PlhStack *stack, const PlhStackStart *start, int max_depth,
			  bool is_frequent)
{
	PlhStackMemo *memo;

	heed_unloads();
	memo = plh_stack_memo_find(start);
	if (memo == NULL)
		memo = make_memo(start, max_depth, is_frequent);
	else if (!is_confirmed(memo, start, max_depth))
		return false;
	if (memo == NULL)
		return false;
	stack->addresses = plh_stack_memo_addresses(memo) + memo->first;
	stack->depth = memo->depth;
	stack->truncated = memo->truncated;
	stack->known = &memo->known;
	return true;
}

/*
 * Capture the stack of the caller from the function on that called the allocator,
 * of which "max_depth" frames are wanted, no more than PLH_MAX_FRAMES and the same
 * in all calls.  If captures are frequent, more stacks are remembered.
 *
 * The return addresses stay where libunwind, or the memo, has put them: at
 * interval 1 even a copy of 20 words shows.
 */
pg_noinline void
plh_unwind_capture(PlhStack *stack, int max_depth, bool is_frequent)
{
	/* the compiler gives this function a frame pointer, as we ask for it */
	const uintptr_t *frame = __builtin_frame_address(0);
	PlhStackStart start = {
		.address = (uintptr_t) __builtin_return_address(0),
		.stack_pointer = (uintptr_t) (frame + 2),
		.frame_pointer = frame[0]
	};

	Assert(max_depth > 0 && max_depth <= PLH_MAX_FRAMES);
	if (plh_unwind_wrong_stacks > 0 ||
		!capture_known(stack, &start, max_depth, is_frequent))
		capture_all(stack, max_depth);
}

#else

void
plh_unwind_capture(PlhStack *stack, int max_depth, bool is_frequent)
{
	Assert(max_depth > 0 && max_depth <= PLH_MAX_FRAMES);
	capture_all(stack, max_depth);
}

#endif							/* PLH_HAVE_UNWIND_RULES */
