/*
 * method_patch.c
 *	  Puts functions of ours in the place of memory context methods.
 *
 * This file is the only one that changes PostgreSQL.  Do not touch it without reading
 * src/sampler/README, "The patch".
 *
 * There is a table of methods per type of context.  In 15 each table is a variable of its own, and
 * all methods are found through context->methods.  From 16 on the tables are the elements of one
 * array, and methods that work on a chunk are found there by the method id in the chunk's header.
 * From 17 on, some elements are spare: with their ids we mark the sampled chunks (chunk_mark.h).
 *
 * The tables are static, so we reach each one through a scratch context of its type.  They are
 * constant, and lie in read-only memory: read_only_store.h stores there.  A server that takes rows
 * of methods (method_registry.h) gets ours from us, and nothing is patched.
 *
 * Nothing is stored before everything is verified, for all types:
 * - the tables are different ones, lie in the server's executable, and where
 *   they should be in the array;
 * - all methods of all tables lie in the server's code and, from 16 on, are
 *   those that it exports: we do not patch a table that somebody else has
 *   patched;
 * - no method stands in two tables;
 * - a chunk's header has the id of its context's type, and the spare elements
 *   are what the server puts there to catch bogus pointers.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "utils/memutils.h"
#if PG_VERSION_NUM >= 160000
#include "utils/memutils_internal.h"
#endif

#include "base/compat.h"
#include "base/fork.h"
#include "base/page_layout.h"
#include "sampler/chunk_mark.h"
#include "sampler/method_patch.h"
#include "sampler/method_registry.h"
#include "sampler/read_only_store.h"

/* This file knows the following layout. */
StaticAssertDecl(offsetof(MemoryContextMethods, alloc) == 0 * sizeof(void *),
				 "method alloc is not where it was");
StaticAssertDecl(offsetof(MemoryContextMethods, free_p) == 1 * sizeof(void *),
				 "method free_p is not where it was");
StaticAssertDecl(offsetof(MemoryContextMethods, realloc) == 2 * sizeof(void *),
				 "method realloc is not where it was");
#if PG_VERSION_NUM >= 160000
#define METHODS_BUT_CHECK 9
#else
#define METHODS_BUT_CHECK 8
#endif
#ifdef MEMORY_CONTEXT_CHECKING
#define METHODS_IN_TABLE (METHODS_BUT_CHECK + 1)
#else
#define METHODS_IN_TABLE METHODS_BUT_CHECK
#endif
StaticAssertDecl(sizeof(MemoryContextMethods) == METHODS_IN_TABLE * sizeof(void *),
				 "memory contexts have methods that we do not know");

/* Chunks in scratch contexts have this size; a slab has one size only. */
#define SCRATCH_CHUNK_BYTES 64

/* The server's executable in memory. */
typedef struct ServerImage
{
	uintptr_t	code_start;
	uintptr_t	code_end;
	uintptr_t	image_start;
	uintptr_t	image_end;
} ServerImage;

/* A method that is replaced. */
typedef struct Replacement
{
	PlhContextType type;
	void	  **place;			/* in a table */
	void	   *original;		/* what stood there */
	void	   *replaced_by;
} Replacement;

/* For each type: free, realloc and two more of marked chunks, realloc, alloc. */
#define MAX_REPLACEMENTS (6 * PLH_CONTEXT_TYPES)

static PLH_SET_AT_LOAD MemoryContextMethods *tables[PLH_CONTEXT_TYPES];
static PLH_SET_AT_LOAD int protections[PLH_CONTEXT_TYPES];	/* of the tables' memory */

/* In the order in which they are stored. */
static PLH_SET_AT_LOAD PLH_LARGE Replacement replacements[MAX_REPLACEMENTS];
static PLH_SET_AT_LOAD int replacement_count;

static const char *const type_names[PLH_CONTEXT_TYPES] = {
	"AllocSet", "Generation", "Slab",
#if PLH_HAVE_BUMP
	"Bump"
#endif
};

#if PG_VERSION_NUM >= 160000
/* Each type's table is this element of the array. */
static const MemoryContextMethodID method_ids[PLH_CONTEXT_TYPES] = {
	MCTX_ASET_ID, MCTX_GENERATION_ID, MCTX_SLAB_ID,
#if PLH_HAVE_BUMP
	MCTX_BUMP_ID
#endif
};
#endif

/* This dl_iterate_phdr callback looks at the first module, the executable. */
static int
find_server_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	ServerImage *image = arg;

	image->image_start = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const Elf64_Phdr *segment = &info->dlpi_phdr[i];
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

/* Create a context of that type to look at. */
static MemoryContext
create_scratch(PlhContextType type)
{
	switch (type)
	{
		case PLH_ALLOCSET:
			return AllocSetContextCreate(TopMemoryContext, "pg_leakhunt scratch", ALLOCSET_SMALL_SIZES);
		case PLH_GENERATION:
			return GenerationContextCreate(TopMemoryContext, "pg_leakhunt scratch",
										   ALLOCSET_SMALL_SIZES);
		case PLH_SLAB:
			return SlabContextCreate(TopMemoryContext, "pg_leakhunt scratch",
									 SLAB_DEFAULT_BLOCK_SIZE, SCRATCH_CHUNK_BYTES);
#if PLH_HAVE_BUMP
		case PLH_BUMP:
			return BumpContextCreate(TopMemoryContext, "pg_leakhunt scratch", ALLOCSET_SMALL_SIZES);
#endif
		default:
			pg_unreachable();
	}
}

/* Find each type's table through a context of that type. */
static void
find_tables(void)
{
	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
	{
		MemoryContext scratch = create_scratch(type);

		/* unconstify's type check does not know the typedef'd struct */
		tables[type] = (MemoryContextMethods *) scratch->methods;
		MemoryContextDelete(scratch);
	}
}

#if PLH_MARKS_CHUNKS
/* Returns the element to which the mark of a type's chunks leads. */
static MemoryContextMethods *
marked_table(PlhContextType type)
{
	return tables[type] + PLH_MARK;
}
#endif

/* Do two tables have a method in common? */
static bool
share_a_method(const MemoryContextMethods *left, const MemoryContextMethods *right)
{
	void	  **left_methods = (void **) left;
	void	  **right_methods = (void **) right;

	for (int i = 0; i < METHODS_IN_TABLE; i++)
	{
		for (int j = 0; j < METHODS_IN_TABLE; j++)
		{
			if (left_methods[i] == right_methods[j])
				return true;
		}
	}
	return false;
}

#if PG_VERSION_NUM >= 160000
/* Is a method the function that the server exports under the method's name? */
static bool
is_exported(PlhContextType type, const char *method_name, void *method)
{
	char		name[NAMEDATALEN];

	snprintf(name, sizeof(name), "%s%s", type_names[type], method_name);
	return method != NULL && method == dlsym(RTLD_DEFAULT, name);
}

/* Do what verify_table does for tables whose methods are exported. */
static const char *
verify_exports(PlhContextType type)
{
	MemoryContextMethods *table = tables[type];

	if (!is_exported(type, "Alloc", table->alloc) || !is_exported(type, "Free", table->free_p) ||
		!is_exported(type, "Realloc", table->realloc) ||
		!is_exported(type, "GetChunkContext", table->get_chunk_context) ||
		!is_exported(type, "GetChunkSpace", table->get_chunk_space))
		return psprintf("The methods of %s contexts are not the server's own: something else has replaced them.",
						type_names[type]);
	return NULL;
}
#endif

#if PLH_MARKS_CHUNKS
/* Returns why chunks of a type can't be marked, or NULL. */
static const char *
verify_mark(PlhContextType type, const ServerImage *image)
{
	MemoryContext scratch;
	int			method_id;
	const MemoryContextMethods *spare = marked_table(type);
	const MemoryContextMethods *reserved =
		tables[PLH_ALLOCSET] - MCTX_ASET_ID + MCTX_15_RESERVED_WIPEDMEM_ID;

	if (type == PLH_BUMP)
		return NULL;

	scratch = create_scratch(type);
	method_id = plh_chunk_method_id(MemoryContextAlloc(scratch, SCRATCH_CHUNK_BYTES));
	MemoryContextDelete(scratch);
	if (method_id != method_ids[type])
		return psprintf("Chunks of %s contexts have the method id %d instead of %d.",
						type_names[type], method_id, method_ids[type]);

	if (memcmp(spare, reserved, sizeof(*spare)) != 0 || spare->alloc != NULL ||
		(uintptr_t) spare->free_p < image->code_start ||
		(uintptr_t) spare->free_p >= image->code_end)
		return psprintf("The method id that would mark chunks of %s contexts is already in use.",
						type_names[type]);
	return NULL;
}
#endif

/* Returns in what way a type's table is not where it should be, or NULL. */
static const char *
verify_place(PlhContextType type, const ServerImage *image)
{
	const MemoryContextMethods *table = tables[type];

	if ((uintptr_t) table < image->image_start || (uintptr_t) (table + 1) > image->image_end)
		return psprintf("The method table of %s contexts is not in the server's executable.",
						type_names[type]);
#if PG_VERSION_NUM >= 160000
	if (table - tables[PLH_ALLOCSET] != (int) method_ids[type] - (int) MCTX_ASET_ID)
		return psprintf("The method table of %s contexts is not at the expected address.",
						type_names[type]);
#endif
	return NULL;
}

/* Returns why a type's table must not be patched, or NULL. */
static const char *
verify_table(PlhContextType type, const ServerImage *image)
{
	const MemoryContextMethods *table = tables[type];
	const MemoryContextMethods *last = table;

	for (int i = 0; i < METHODS_IN_TABLE; i++)
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

#if PLH_MARKS_CHUNKS
	if (type != PLH_BUMP)
		last = marked_table(type);
#endif
	protections[type] = plh_read_only_store_protection(table, last + 1);
	if (protections[type] == PLH_PROTECTION_UNKNOWN)
		return psprintf("Could not determine the memory protection of the method table of %s contexts.",
						type_names[type]);
	return NULL;
}

/*
 * Returns why the methods must not be replaced, or NULL.  Where the server takes rows of methods,
 * those that are there may be another module's.
 */
static const char *
verify_tables(bool are_patched)
{
	ServerImage image = {0};

	(void) dl_iterate_phdr(find_server_image, &image);
	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
	{
		const char *refusal = verify_place(type, &image);

		if (refusal == NULL && are_patched)
			refusal = verify_table(type, &image);
#if PG_VERSION_NUM >= 160000
		if (refusal == NULL && are_patched)
			refusal = verify_exports(type);
#endif
#if PLH_MARKS_CHUNKS
		if (refusal == NULL)
			refusal = verify_mark(type, &image);
#endif
		if (refusal != NULL)
			return refusal;
	}
	return NULL;
}

static void
replace(PlhContextType type, void *place, void *replaced_by)
{
	Replacement *replacement = &replacements[replacement_count++];

	Assert(replacement_count <= MAX_REPLACEMENTS);
	replacement->type = type;
	replacement->place = place;
	replacement->original = *replacement->place;
	replacement->replaced_by = replaced_by;
}

/* Note the methods of a type to replace. */
static void
replace_methods(PlhContextType type, const PlhMethods *hooks)
{
	MemoryContextMethods *table = tables[type];

	/* the hooks that free a sample must be there before there is one */
	if (hooks->free_p != NULL)
	{
#if PLH_MARKS_CHUNKS
		MemoryContextMethods *marked = marked_table(type);

		replace(type, &marked->get_chunk_context, table->get_chunk_context);
		replace(type, &marked->get_chunk_space, table->get_chunk_space);
		replace(type, &marked->free_p, hooks->free_p);
		replace(type, &marked->realloc, hooks->realloc);
#else
		replace(type, &table->free_p, hooks->free_p);
#endif
		replace(type, &table->realloc, hooks->realloc);
	}
	replace(type, &table->alloc, hooks->alloc);
}

/* Of "count" places the last comes first: at any time, the hooks there can do with each other. */
static void
put_back(int count)
{
	while (--count >= 0)
	{
		const Replacement *replacement = &replacements[count];

		(void) plh_read_only_store(replacement->place, replacement->original,
								   protections[replacement->type]);
	}
}

/* Returns what a store that has failed is told by; errno has the reason. */
static const char *
refused_store(PlhContextType type, PlhStoreResult result)
{
	return result == PLH_STORE_SEALED ?
		psprintf("The method table of %s contexts is in sealed memory, and the kernel does not write there by \"%s\": %m.",
				 type_names[type], "/proc/self/mem") :
		psprintf("Could not change the method table of %s contexts: %m.", type_names[type]);
}

/* Nothing here may palloc before all is stored or put back: it could become a sample. */
static const char *
store_hooks(void)
{
	for (int i = 0; i < replacement_count; i++)
	{
		const Replacement *replacement = &replacements[i];
		PlhStoreResult result = plh_read_only_store(replacement->place, replacement->replaced_by,
													protections[replacement->type]);

		if (result != PLH_STORED)
		{
			int			saved_errno = errno;

			put_back(i);
			errno = saved_errno;
			return refused_store(replacement->type, result);
		}
	}
	return NULL;
}

#if PLH_METHODS_CAN_BE_REGISTERED
/* Have the server replace methods of a type.  What frees a sample comes before what takes one. */
static void
register_methods(PlhContextType type, const PlhMethods *hooks)
{
	MemoryContextMethods row = *tables[type];

	if (hooks->free_p != NULL)
	{
		row.realloc = hooks->realloc;
		row.free_p = hooks->free_p;
#if PLH_MARKS_CHUNKS
		plh_method_registry_set(method_ids[type] + PLH_MARK, &row);
		row.free_p = tables[type]->free_p;
#endif
	}
	row.alloc = hooks->alloc;
	plh_method_registry_set(method_ids[type], &row);
}
#endif

/* Returns NULL, or a sentence that says why the methods must not be replaced. */
const char *
plh_method_patch_find(PlhMethods *originals)
{
	const char *refusal;

	find_tables();
	refusal = verify_tables(!plh_method_registry_is_open());
	if (refusal != NULL)
		return refusal;

	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
	{
		originals[type].alloc = tables[type]->alloc;
		originals[type].free_p = tables[type]->free_p;
		originals[type].realloc = tables[type]->realloc;
	}
	return NULL;
}

/* Returns NULL, or a sentence that says why nothing was changed. */
const char *
plh_method_patch_install(const PlhMethods *hooks)
{
#if PLH_METHODS_CAN_BE_REGISTERED
	if (plh_method_registry_is_open())
	{
		for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
			register_methods(type, &hooks[type]);
		return NULL;
	}
#endif
	replacement_count = 0;
	for (int type = 0; type < PLH_CONTEXT_TYPES; type++)
		replace_methods(type, &hooks[type]);
	return store_hooks();
}
