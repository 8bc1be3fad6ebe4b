/*
 * fuzz_names.c
 *	  A file that says of itself to be a binary, and the names of functions that are
 *	  read from it where libdw is missing.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/whole_io.h"
#include "symbols/elf_names.h"

#include "fuzz.h"

/* The seeds have their code from this address on. */
#define CODE_START 0x1000
#define CODE_END 0x1100

static char path[64];
static int	file = -1;

static void
start(void)
{
	file = memfd_create("binary", 0);
	if (file < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	unsetenv("DEBUGINFOD_URLS");
}

/* Ask about an address; each byte of the name is read. */
static Size
ask(const PlhElfNames *names, uint64 address)
{
	const char *name = plh_elf_names_find(names, address);

	HOLDS(name == NULL || name[0] != '\0');
	return name == NULL ? 0 : strlen(name);
}

/* MayThrow, which it does not. */
static void
read_names(void *arg)
{
	PlhBinary	binary = {.path = path,.seen_at = PLH_ANY_VERSION};
	PlhElfNames *names = NULL;
	Size	   *name_bytes = arg;

	if (plh_elf_names_open(&binary, &names) != PLH_MODULE_OPEN)
	{
		HOLDS(names == NULL);
		return;
	}
	HOLDS(strlen(names->file) > 0);
	HOLDS(names->count <= PG_INT32_MAX);
	for (uint64 address = CODE_START; address < CODE_END; address++)
		*name_bytes += ask(names, address);
	*name_bytes += ask(names, 0) + ask(names, PG_UINT64_MAX);
	if (names->called_malloc != NULL)
		HOLDS(plh_elf_names_of_malloc(names->called_malloc) != NULL);
	plh_elf_names_close(names);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	Size		name_bytes = 0;

	if (file < 0)
		start();
	if (ftruncate(file, 0) != 0 || !plh_whole_io_write(file, data, bytes, 0))
		abort();
	HOLDS(fuzz_run(bytes, read_names, &name_bytes) == 0);
	fuzz_accepted += name_bytes > 0;
	return 0;
}
