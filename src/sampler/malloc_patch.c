/*
 * malloc_patch.c
 *	  Puts shorter code in the place of the preloaded library's malloc and free.
 *
 * The library finds the next malloc when it is called first, and so it keeps its
 * address in a variable, and goes there by an indirect jump behind a branch.  Once the
 * address is known, a branch can go there at once; and where malloc's countdown lies in
 * a thread, need not be looked up each time.  That is the whole difference: where
 * something is not as expected, or the kernel says no, the library's own code stays,
 * which does the same.
 *
 * The postmaster does it, and its children inherit it.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "sampler/machine_code.h"
#include "sampler/malloc_patch.h"
#include "sampler/read_only_store.h"

#ifdef __x86_64__

#include <cpuid.h>

/* The functions begin at a multiple of this, and so it is in one page. */
#define CODE_MAX 64

/* The bytes of a function that a library exports; 0 if that can't be told. */
static Size
function_bytes(void *function)
{
	Dl_info		info;
	void	   *symbol = NULL;

	if (dladdr1(function, &info, &symbol, RTLD_DL_SYMENT) == 0 ||
		symbol == NULL || info.dli_saddr != function)
		return 0;
	return ((const ElfW(Sym) *) symbol)->st_size;
}

/* Nobody else must run what is replaced. */
static bool
is_only_thread(void)
{
	FILE	   *status = fopen("/proc/self/status", "r");
	char		line[256];
	int			threads = 0;

	if (status == NULL)
		return false;
	while (threads == 0 && fgets(line, sizeof(line), status) != NULL)
		(void) sscanf(line, "Threads: %d", &threads);
	fclose(status);
	return threads == 1;
}

static void
start_code(PlhMachineCode *code, uint8 *bytes, const PlhMallocPassing *passing)
{
	plh_machine_code_start(code, bytes,
						   Min(CODE_MAX, function_bytes(passing->function)),
						   passing->function);
}

/*
 * Let a processor that may have read ahead begin anew, as another process' stores are
 * what it does not expect here.
 */
static void
forget_old_code(void)
{
	unsigned int a,
				b,
				c,
				d;

	__cpuid(0, a, b, c, d);
	(void) a, (void) b, (void) c, (void) d;
}

/* End the code, and store it if it is sound. */
static void
store_code(PlhMachineCode *code, PlhCondition condition,
		   const PlhMallocPassing *passing)
{
	plh_machine_code_branch(code, condition, *passing->next, passing->otherwise);
	if (!code->is_sound || code->place % CODE_MAX != 0)
		return;
	(void) plh_read_only_store_code(passing->function, code->bytes, code->length);
	forget_old_code();
}

/*
 * Replace the fast paths of malloc and free, whose next functions were found.
 */
void
plh_malloc_patch_install(const PlhMallocHook *hook)
{
	PlhMachineCode code;
	uint8		bytes[CODE_MAX];

	if (!is_only_thread())
		return;
	start_code(&code, bytes, &hook->malloc);
	plh_machine_code_count_down_of_thread(&code, 1, hook->countdown());
	store_code(&code, PLH_IF_ABOVE, &hook->malloc);

	start_code(&code, bytes, &hook->free);
	plh_machine_code_ask_filter(&code, 1, hook->filter);
	store_code(&code, PLH_IF_EQUAL, &hook->free);
}

#else

void
plh_malloc_patch_install(const PlhMallocHook *hook)
{
}

#endif							/* __x86_64__ */
