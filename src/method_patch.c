/*
 * method_patch.c
 *	  Puts functions of ours in the place of memory context methods.
 *
 * This is the only file that changes PostgreSQL.  Do not touch it without
 * reading src/README, "The patch".
 *
 * PostgreSQL 15 dispatches on context->methods, which points to one constant
 * table of functions per type of context.  The tables are static, so we get
 * at each through a scratch context of its type.  They hold addresses, so that
 * the linker puts them where the dynamic linker relocates them and then makes
 * the page read-only (RELRO): we make it writable, store three addresses, and
 * give it back the protection that it had.
 *
 * Nothing is stored before everything is verified, for all types:
 * - the tables are three different ones and lie in the server's executable,
 *   in memory that can be read and not be executed;
 * - all methods of all tables lie in the server's code: a table that somebody
 *   else has patched is none of ours to patch;
 * - no method stands in two tables.
 */
#include "postgres.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "utils/memutils.h"

#include "compat.h"
#include "method_patch.h"

/* The layout that this file knows, of PostgreSQL 15. */
StaticAssertDecl(offsetof(MemoryContextMethods, alloc) == 0 * sizeof(void *),
				 "method alloc is not where it was");
StaticAssertDecl(offsetof(MemoryContextMethods, free_p) == 1 * sizeof(void *),
				 "method free_p is not where it was");
StaticAssertDecl(offsetof(MemoryContextMethods, realloc) == 2 * sizeof(void *),
				 "method realloc is not where it was");
#ifdef MEMORY_CONTEXT_CHECKING
StaticAssertDecl(sizeof(MemoryContextMethods) == 9 * sizeof(void *),
				 "memory contexts have methods that we do not know");
#else
StaticAssertDecl(sizeof(MemoryContextMethods) == 8 * sizeof(void *),
				 "memory contexts have methods that we do not know");
#endif

#define METHODS_PER_TABLE (sizeof(MemoryContextMethods) / sizeof(void *))

typedef struct ServerImage
{
	uintptr_t	code_start;
	uintptr_t	code_end;
	uintptr_t	image_start;
	uintptr_t	image_end;
} ServerImage;

static MemoryContextMethods *tables[PLH_CONTEXT_TYPES];

static const char *const type_names[PLH_CONTEXT_TYPES] = {
	"AllocSet", "Generation", "Slab"
};

/* dl_iterate_phdr callback: the first object is the executable. */
static int
find_server_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	ServerImage *image = arg;

	image->image_start = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t	start = info->dlpi_addr + segment->p_vaddr;
		uintptr_t	end = start + segment->p_memsz;

		if (segment->p_type != PT_LOAD)
			continue;
		image->image_start = Min(image->image_start, start);
		image->image_end = Max(image->image_end, end);
		if ((segment->p_flags & PF_X) != 0)
		{
			image->code_start = start;
			image->code_end = end;
		}
	}
	return 1;
}

/* Learn where each type's table is, from a context of that type. */
static void
find_tables(void)
{
	MemoryContext scratch[PLH_CONTEXT_TYPES];

	scratch[PLH_ALLOCSET] =
		AllocSetContextCreate(TopMemoryContext, "pg_leakhunt scratch",
							  ALLOCSET_SMALL_SIZES);
	scratch[PLH_GENERATION] =
		GenerationContextCreate(TopMemoryContext, "pg_leakhunt scratch",
								ALLOCSET_SMALL_SIZES);
	scratch[PLH_SLAB] =
		SlabContextCreate(TopMemoryContext, "pg_leakhunt scratch",
						  SLAB_DEFAULT_BLOCK_SIZE, 64);

	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
	{
		/* unconstify's type check does not know the typedef'd struct */
		tables[type] = (MemoryContextMethods *) scratch[type]->methods;
		MemoryContextDelete(scratch[type]);
	}
}

/*
 * The protection of the pages of [start, end) as PROT_ flags, or -1 if it is
 * not the same for all of them or can't be found out.
 */
static int
page_protection(uintptr_t start, uintptr_t end)
{
	FILE	   *maps = fopen("/proc/self/maps", "r");
	char		line[MAXPGPATH + 256];
	int			protection = -1;

	if (maps == NULL)
		return -1;

	while (fgets(line, sizeof(line), maps) != NULL)
	{
		unsigned long low;
		unsigned long high;
		char		flags[5];

		if (sscanf(line, "%lx-%lx %4s", &low, &high, flags) == 3 &&
			start >= low && end <= high)
		{
			protection = (flags[0] == 'r' ? PROT_READ : 0) |
				(flags[1] == 'w' ? PROT_WRITE : 0) |
				(flags[2] == 'x' ? PROT_EXEC : 0);
			break;
		}
	}
	fclose(maps);
	return protection;
}

/* Where the pages of a table start and end. */
static void
table_pages(const MemoryContextMethods *table, uintptr_t *start,
			uintptr_t *end)
{
	uintptr_t	page_bytes = sysconf(_SC_PAGESIZE);

	*start = (uintptr_t) table & ~(page_bytes - 1);
	*end = TYPEALIGN(page_bytes, (uintptr_t) (table + 1));
}

/* Do two tables have a method in common? */
static bool
share_a_method(const MemoryContextMethods *left,
			   const MemoryContextMethods *right)
{
	void	  **left_methods = (void **) left;
	void	  **right_methods = (void **) right;

	for (int i = 0; i < METHODS_PER_TABLE; i++)
	{
		for (int j = 0; j < METHODS_PER_TABLE; j++)
		{
			if (left_methods[i] == right_methods[j])
				return true;
		}
	}
	return false;
}

/* Why a type's table is not to be patched, or NULL. */
static const char *
verify_table(PlhContextType type, const ServerImage *image)
{
	const MemoryContextMethods *table = tables[type];
	uintptr_t	start;
	uintptr_t	end;
	int			protection;

	if ((uintptr_t) table < image->image_start ||
		(uintptr_t) (table + 1) > image->image_end)
		return psprintf("The method table of %s contexts is not in the server's executable.",
						type_names[type]);

	for (int i = 0; i < METHODS_PER_TABLE; i++)
	{
		uintptr_t	method = ((uintptr_t *) table)[i];

		if (method < image->code_start || method >= image->code_end)
			return psprintf("Method %d of %s contexts is not the server's own: something else has replaced it.",
							i, type_names[type]);
	}

	for (int other = 0; other < type; other++)
	{
		if (share_a_method(table, tables[other]))
			return psprintf("%s and %s contexts have a method in common.",
							type_names[other], type_names[type]);
	}

	table_pages(table, &start, &end);
	protection = page_protection(start, end);
	if (protection == -1 || (protection & PROT_READ) == 0 ||
		(protection & PROT_EXEC) != 0)
		return psprintf("The method table of %s contexts is not in plain data pages.",
						type_names[type]);
	return NULL;
}

/* Why the tables are not to be patched, or NULL. */
static const char *
verify_tables(void)
{
	ServerImage image = {0};

	(void) dl_iterate_phdr(find_server_image, &image);
	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
	{
		const char *refusal = verify_table(type, &image);

		if (refusal != NULL)
			return refusal;
	}
	return NULL;
}

/*
 * Store methods into a table.  Each store is one aligned word: whoever reads
 * the table meanwhile sees the old or the new function.
 */
static bool
store_methods(PlhContextType type, const PlhMethods *methods)
{
	MemoryContextMethods *table = tables[type];
	uintptr_t	start;
	uintptr_t	end;
	int			protection;

	table_pages(table, &start, &end);
	protection = page_protection(start, end);
	if (protection == -1 ||
		mprotect((void *) start, end - start, protection | PROT_WRITE) != 0)
		return false;

	__atomic_store_n(&table->alloc, methods->alloc, __ATOMIC_RELEASE);
	__atomic_store_n(&table->free_p, methods->free_p, __ATOMIC_RELEASE);
	__atomic_store_n(&table->realloc, methods->realloc, __ATOMIC_RELEASE);

	/*
	 * Should this fail, the page stays writable: less safe than it was, but
	 * everything works, so it is no reason to give up.
	 */
	(void) mprotect((void *) start, end - start, protection);
	return true;
}

/*
 * Replace the methods of all types by "hooks", after storing what they are
 * now in "originals"; both are arrays of PLH_CONTEXT_TYPES.  Returns NULL, or
 * a sentence that says why nothing was changed.
 */
const char *
plh_method_patch_install(const PlhMethods *hooks, PlhMethods *originals)
{
	const char *refusal;

	find_tables();
	refusal = verify_tables();
	if (refusal != NULL)
		return refusal;

	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
	{
		originals[type].alloc = tables[type]->alloc;
		originals[type].free_p = tables[type]->free_p;
		originals[type].realloc = tables[type]->realloc;
	}

	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
	{
		if (!store_methods(type, &hooks[type]))
		{
			refusal = psprintf("Could not make the method table of %s contexts writable: %m.",
							   type_names[type]);
			while (--type >= 0)
				(void) store_methods(type, &originals[type]);
			return refusal;
		}
	}
	return NULL;
}
