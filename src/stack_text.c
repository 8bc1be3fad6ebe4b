/*
 * stack_text.c
 *	  Stacks as people read them: names of functions, and the call site.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "stack_text.h"

/* What stands at the end of a stack that had more frames than we keep. */
#define TRUNCATED_FRAME "[more frames]"

/*
 * Functions that allocate on behalf of their caller: the call site is the
 * first frame that is none of them.  The stack keeps them all.  In the order
 * of strcmp.
 */
static const char *const helper_functions[] = {
	"AllocSetContextCreateInternal",
	"DynaHashAlloc",
	"GenerationContextCreate",
	"MemoryContextAlloc",
	"MemoryContextAllocAligned",
	"MemoryContextAllocExtended",
	"MemoryContextAllocHuge",
	"MemoryContextAllocZero",
	"MemoryContextAllocZeroAligned",
	"MemoryContextCreate",
	"MemoryContextStrdup",
	"SlabContextCreate",
	"appendBinaryStringInfo",
	"appendBinaryStringInfoNT",
	"appendStringInfo",
	"appendStringInfoChar",
	"appendStringInfoSpaces",
	"appendStringInfoString",
	"appendStringInfoVA",
	"bms_add_member",
	"bms_add_members",
	"bms_add_range",
	"bms_copy",
	"bms_difference",
	"bms_intersect",
	"bms_make_singleton",
	"bms_union",
	"copyObjectImpl",
	"cstring_to_text",
	"cstring_to_text_with_len",
	"datumCopy",
	"element_alloc",
	"enlargeStringInfo",
	"enlarge_list",
	"get_hash_entry",
	"hash_create",
	"hash_search",
	"hash_search_with_hash_value",
	"initStringInfo",
	"lappend",
	"lappend_int",
	"lappend_oid",
	"lappend_xid",
	"lcons",
	"lcons_int",
	"lcons_oid",
	"list_concat",
	"list_concat_copy",
	"list_copy",
	"list_copy_deep",
	"list_insert_nth",
	"list_make1_impl",
	"list_make2_impl",
	"list_make3_impl",
	"list_make4_impl",
	"list_make5_impl",
	"makeStringInfo",
	"new_head_cell",
	"new_list",
	"new_tail_cell",
	"palloc",
	"palloc0",
	"palloc0_mul",
	"palloc_aligned",
	"palloc_extended",
	"palloc_mul",
	"palloc_mul_extended",
	"pnstrdup",
	"psprintf",
	"pstrdup",
	"pvsnprintf",
	"repalloc",
	"repalloc0",
	"repalloc_extended",
	"repalloc_huge",
	"repalloc_mul",
	"repalloc_mul_extended",
	"seg_alloc",
	"text_to_cstring"
};

static int
compare_names(const void *key, const void *element)
{
	return strcmp((const char *) key, *(const char *const *) element);
}

/* Is that a function which allocates on behalf of its caller? */
static bool
is_helper(const char *function)
{
	return function != NULL &&
		bsearch(function, helper_functions, lengthof(helper_functions),
				sizeof(helper_functions[0]), compare_names) != NULL;
}

/*
 * The index of the call site.  A frame without a name just inside a helper is
 * a static function of the helper's own.
 */
static int
find_site(const char **functions, int count)
{
	int			site = 0;

	while (site < count)
	{
		if (is_helper(functions[site]))
			site++;
		else if (functions[site] == NULL && site + 1 < count &&
				 is_helper(functions[site + 1]))
			site += 2;
		else
			break;
	}
	return site < count ? site : 0;
}

/* The last part of a path. */
static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* A frame as text: its function, or where it is. */
static char *
frame_text(const PlhModuleRecord *module, PlhFrame frame,
		   const char *function)
{
	unsigned long long address = PLH_FRAME_ADDRESS(frame);

	if (function != NULL)
		return pstrdup(function);
	if (module != NULL)
		return psprintf("%s+0x%llx", base_name(module->path), address);
	return psprintf("0x%llx", address);
}

/* Mix a frame into the hash of a stack: by build-id, not by address. */
static uint64
hash_frame(uint64 hash, const PlhModuleRecord *module, PlhFrame frame)
{
	uint64		address = PLH_FRAME_ADDRESS(frame);

	if (module != NULL && module->build_id_bytes > 0)
		hash = hash_bytes_extended(module->build_id, module->build_id_bytes,
								   hash);
	else if (module != NULL)
		hash = hash_bytes_extended((const unsigned char *) module->path,
								   module->path_bytes, hash);
	return hash_bytes_extended((const unsigned char *) &address,
							   sizeof(address), hash);
}

/*
 * Describe a stack, in the current memory context.
 */
void
plh_stack_text_describe(PlhSymbols *symbols, const PlhProfileImage *image,
						const PlhStackRecord *stack, PlhStackText *text)
{
	const char **functions = palloc0(sizeof(char *) * (stack->depth + 1));
	uint64		hash = 0;

	text->frames = palloc(sizeof(char *) * (stack->depth + 1));
	text->frame_count = 0;
	for (uint32 i = 0; i < stack->depth; i++)
	{
		PlhFrame	frame = stack->frames[i];
		const PlhModuleRecord *module =
		plh_profile_reader_module(image, PLH_FRAME_MODULE(frame));

		if (module != NULL)
			functions[i] = plh_symbols_function(symbols, module,
												PLH_FRAME_ADDRESS(frame));
		text->frames[text->frame_count++] = frame_text(module, frame,
													   functions[i]);
		hash = hash_frame(hash, module, frame);
	}
	text->site = stack->depth == 0 ? "" :
		text->frames[find_site(functions, stack->depth)];
	if (stack->truncated)
		text->frames[text->frame_count++] = TRUNCATED_FRAME;
	text->stack_id = (int64) hash;
}
