/*
 * server_functions.c
 *	  The functions of the server, and of libraries, that mean something in a
 *	  stack, by name.
 *
 * There is one table, so that a new way to call palloc is added in one place.
 * Not every supported version has all of the functions.
 */
#include "postgres.h"

#include "base/server_functions.h"

/*
 * The table is sorted in the order of strcmp.
 *
 * Helpers that are built on top of the allocator (pstrdup, lappend, ...) are
 * no allocators: they stay in the stack, and the first frame that is not a
 * helper is the call site.
 *
 * What libraries wrap around malloc is no call site either.  Those of C++ have the
 * names of the binaries, which top_site.c sees, and those for people.
 *
 * The bounded caches are the temporary buffers (temp_buffers is their bound),
 * locks, open files, descriptions of tables from before they were changed, and
 * the facts about types and text search objects that are kept for a session.
 */
static const PlhServerFunction server_functions[] = {
	{"AllocSetContextCreateInternal", PLH_SERVER_HELPER},
	{"CRYPTO_clear_realloc", PLH_SERVER_HELPER},
	{"CRYPTO_malloc", PLH_SERVER_HELPER},
	{"CRYPTO_memdup", PLH_SERVER_HELPER},
	{"CRYPTO_realloc", PLH_SERVER_HELPER},
	{"CRYPTO_strdup", PLH_SERVER_HELPER},
	{"CRYPTO_strndup", PLH_SERVER_HELPER},
	{"CRYPTO_zalloc", PLH_SERVER_HELPER},
	{"DynaHashAlloc", PLH_SERVER_HELPER},
	{"ExtendBufferedRelLocal", PLH_SERVER_BOUNDED_CACHE},
	{"GenerationContextCreate", PLH_SERVER_HELPER},
	{"GetLocalVictimBuffer", PLH_SERVER_BOUNDED_CACHE},
	{"LocalBufferAlloc", PLH_SERVER_BOUNDED_CACHE},
	{"LockAcquireExtended", PLH_SERVER_BOUNDED_CACHE},
	{"MemoryContextAlloc", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"MemoryContextAllocAligned", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"MemoryContextAllocExtended", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"MemoryContextAllocHuge", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"MemoryContextAllocZero", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"MemoryContextAllocZeroAligned", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"MemoryContextCreate", PLH_SERVER_HELPER},
	{"MemoryContextStrdup", PLH_SERVER_HELPER},
	{"Perl_more_bodies", PLH_SERVER_HELPER},
	{"Perl_more_sv", PLH_SERVER_HELPER},
	{"Perl_safesyscalloc", PLH_SERVER_HELPER},
	{"Perl_safesysmalloc", PLH_SERVER_HELPER},
	{"Perl_safesysrealloc", PLH_SERVER_HELPER},
	{"Perl_savepv", PLH_SERVER_HELPER},
	{"Perl_savepvn", PLH_SERVER_HELPER},
	{"Perl_savesharedpv", PLH_SERVER_HELPER},
	{"Perl_savesharedpvn", PLH_SERVER_HELPER},
	{"Perl_savesharedsvpv", PLH_SERVER_HELPER},
	{"Perl_sv_grow", PLH_SERVER_HELPER},
	{"Perl_sv_grow_fresh", PLH_SERVER_HELPER},
	{"PyMem_Calloc", PLH_SERVER_HELPER},
	{"PyMem_Malloc", PLH_SERVER_HELPER},
	{"PyMem_RawCalloc", PLH_SERVER_HELPER},
	{"PyMem_RawMalloc", PLH_SERVER_HELPER},
	{"PyMem_RawRealloc", PLH_SERVER_HELPER},
	{"PyMem_Realloc", PLH_SERVER_HELPER},
	{"PyObject_Calloc", PLH_SERVER_HELPER},
	{"PyObject_Malloc", PLH_SERVER_HELPER},
	{"PyObject_Realloc", PLH_SERVER_HELPER},
	{"PyType_GenericAlloc", PLH_SERVER_HELPER},
	{"RelationBuildLocalRelation", PLH_SERVER_BOUNDED_CACHE},
	{"RelationCacheInvalidate", PLH_SERVER_BOUNDED_CACHE},
	{"RelationCacheInvalidateEntry", PLH_SERVER_BOUNDED_CACHE},
	{"RelationIdGetRelation", PLH_SERVER_BOUNDED_CACHE},
	{"SlabContextCreate", PLH_SERVER_HELPER},
	{"_PyMem_RawCalloc", PLH_SERVER_HELPER},
	{"_PyMem_RawMalloc", PLH_SERVER_HELPER},
	{"_PyMem_RawRealloc", PLH_SERVER_HELPER},
	{"_PyMem_RawStrdup", PLH_SERVER_HELPER},
	{"_PyMem_Strdup", PLH_SERVER_HELPER},
	{"_PyObject_Calloc", PLH_SERVER_HELPER},
	{"_PyObject_GC_New", PLH_SERVER_HELPER},
	{"_PyObject_GC_NewVar", PLH_SERVER_HELPER},
	{"_PyObject_GC_Resize", PLH_SERVER_HELPER},
	{"_PyObject_Malloc", PLH_SERVER_HELPER},
	{"_PyObject_New", PLH_SERVER_HELPER},
	{"_PyObject_NewVar", PLH_SERVER_HELPER},
	{"_PyObject_Realloc", PLH_SERVER_HELPER},
	{"_ZN4llvm15SmallVectorBaseIjE13mallocForGrowEmmRm", PLH_SERVER_HELPER},
	{"_ZN4llvm15SmallVectorBaseIjE8grow_podEPvmm", PLH_SERVER_HELPER},
	{"_ZN4llvm15SmallVectorBaseImE13mallocForGrowEmmRm", PLH_SERVER_HELPER},
	{"_ZN4llvm15SmallVectorBaseImE8grow_podEPvmm", PLH_SERVER_HELPER},
	{"_ZN4llvm15allocate_bufferEmm", PLH_SERVER_HELPER},
	{"_Znam", PLH_SERVER_HELPER},
	{"_ZnamRKSt9nothrow_t", PLH_SERVER_HELPER},
	{"_ZnamSt11align_val_t", PLH_SERVER_HELPER},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", PLH_SERVER_HELPER},
	{"_Znwm", PLH_SERVER_HELPER},
	{"_ZnwmRKSt9nothrow_t", PLH_SERVER_HELPER},
	{"_ZnwmSt11align_val_t", PLH_SERVER_HELPER},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", PLH_SERVER_HELPER},
	{"__GI___strdup", PLH_SERVER_HELPER},
	{"__GI___strndup", PLH_SERVER_HELPER},
	{"___asprintf", PLH_SERVER_HELPER},
	{"___asprintf_chk", PLH_SERVER_HELPER},
	{"___vasprintf_chk", PLH_SERVER_HELPER},
	{"__asprintf", PLH_SERVER_HELPER},
	{"__asprintf_chk", PLH_SERVER_HELPER},
	{"__strdup", PLH_SERVER_HELPER},
	{"__strndup", PLH_SERVER_HELPER},
	{"__vasprintf_chk", PLH_SERVER_HELPER},
	{"__vasprintf_internal", PLH_SERVER_HELPER},
	{"__wcsdup", PLH_SERVER_HELPER},
	{"appendBinaryStringInfo", PLH_SERVER_HELPER},
	{"appendBinaryStringInfoNT", PLH_SERVER_HELPER},
	{"appendStringInfo", PLH_SERVER_HELPER},
	{"appendStringInfoChar", PLH_SERVER_HELPER},
	{"appendStringInfoSpaces", PLH_SERVER_HELPER},
	{"appendStringInfoString", PLH_SERVER_HELPER},
	{"appendStringInfoVA", PLH_SERVER_HELPER},
	{"asprintf", PLH_SERVER_HELPER},
	{"bms_add_member", PLH_SERVER_HELPER},
	{"bms_add_members", PLH_SERVER_HELPER},
	{"bms_add_range", PLH_SERVER_HELPER},
	{"bms_copy", PLH_SERVER_HELPER},
	{"bms_difference", PLH_SERVER_HELPER},
	{"bms_intersect", PLH_SERVER_HELPER},
	{"bms_make_singleton", PLH_SERVER_HELPER},
	{"bms_union", PLH_SERVER_HELPER},
	{"calloc", PLH_SERVER_HELPER},
	{"copyObjectImpl", PLH_SERVER_HELPER},
	{"cstring_to_text", PLH_SERVER_HELPER},
	{"cstring_to_text_with_len", PLH_SERVER_HELPER},
	{"datumCopy", PLH_SERVER_HELPER},
	{"element_alloc", PLH_SERVER_HELPER},
	{"enlargeStringInfo", PLH_SERVER_HELPER},
	{"enlarge_list", PLH_SERVER_HELPER},
	{"g_malloc", PLH_SERVER_HELPER},
	{"g_malloc0", PLH_SERVER_HELPER},
	{"g_malloc0_n", PLH_SERVER_HELPER},
	{"g_malloc_n", PLH_SERVER_HELPER},
	{"g_memdup", PLH_SERVER_HELPER},
	{"g_memdup2", PLH_SERVER_HELPER},
	{"g_realloc", PLH_SERVER_HELPER},
	{"g_realloc_n", PLH_SERVER_HELPER},
	{"g_slice_alloc", PLH_SERVER_HELPER},
	{"g_slice_alloc0", PLH_SERVER_HELPER},
	{"g_strdup", PLH_SERVER_HELPER},
	{"g_strndup", PLH_SERVER_HELPER},
	{"g_try_malloc", PLH_SERVER_HELPER},
	{"g_try_malloc0", PLH_SERVER_HELPER},
	{"g_try_malloc0_n", PLH_SERVER_HELPER},
	{"g_try_malloc_n", PLH_SERVER_HELPER},
	{"g_try_realloc", PLH_SERVER_HELPER},
	{"g_try_realloc_n", PLH_SERVER_HELPER},
	{"get_hash_entry", PLH_SERVER_HELPER},
	{"guc_malloc", PLH_SERVER_HELPER},
	{"guc_realloc", PLH_SERVER_HELPER},
	{"guc_strdup", PLH_SERVER_HELPER},
	{"hash_create", PLH_SERVER_HELPER},
	{"hash_search", PLH_SERVER_HELPER},
	{"hash_search_with_hash_value", PLH_SERVER_HELPER},
	{"index_getprocinfo", PLH_SERVER_BOUNDED_CACHE},
	{"initStringInfo", PLH_SERVER_HELPER},
	{"lappend", PLH_SERVER_HELPER},
	{"lappend_int", PLH_SERVER_HELPER},
	{"lappend_oid", PLH_SERVER_HELPER},
	{"lappend_xid", PLH_SERVER_HELPER},
	{"lcons", PLH_SERVER_HELPER},
	{"lcons_int", PLH_SERVER_HELPER},
	{"lcons_oid", PLH_SERVER_HELPER},
	{"list_concat", PLH_SERVER_HELPER},
	{"list_concat_copy", PLH_SERVER_HELPER},
	{"list_copy", PLH_SERVER_HELPER},
	{"list_copy_deep", PLH_SERVER_HELPER},
	{"list_insert_nth", PLH_SERVER_HELPER},
	{"list_make1_impl", PLH_SERVER_HELPER},
	{"list_make2_impl", PLH_SERVER_HELPER},
	{"list_make3_impl", PLH_SERVER_HELPER},
	{"list_make4_impl", PLH_SERVER_HELPER},
	{"list_make5_impl", PLH_SERVER_HELPER},
	{"llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)", PLH_SERVER_HELPER},
	{"llvm::SmallVectorBase<unsigned int>::mallocForGrow(unsigned long, unsigned long, unsigned long&)", PLH_SERVER_HELPER},
	{"llvm::SmallVectorBase<unsigned long>::grow_pod(void*, unsigned long, unsigned long)", PLH_SERVER_HELPER},
	{"llvm::SmallVectorBase<unsigned long>::mallocForGrow(unsigned long, unsigned long, unsigned long&)", PLH_SERVER_HELPER},
	{"llvm::allocate_buffer(unsigned long, unsigned long)", PLH_SERVER_HELPER},
	{"lookup_ts_config_cache", PLH_SERVER_BOUNDED_CACHE},
	{"lookup_ts_dictionary_cache", PLH_SERVER_BOUNDED_CACHE},
	{"lookup_ts_parser_cache", PLH_SERVER_BOUNDED_CACHE},
	{"lookup_type_cache", PLH_SERVER_BOUNDED_CACHE},
	{"makeStringInfo", PLH_SERVER_HELPER},
	{"malloc", PLH_SERVER_HELPER},
	{"newNode", PLH_SERVER_HELPER},
	{"new_head_cell", PLH_SERVER_HELPER},
	{"new_list", PLH_SERVER_HELPER},
	{"new_tail_cell", PLH_SERVER_HELPER},
	{"operator new(unsigned long)", PLH_SERVER_HELPER},
	{"operator new(unsigned long, std::align_val_t)", PLH_SERVER_HELPER},
	{"operator new(unsigned long, std::align_val_t, std::nothrow_t const&)", PLH_SERVER_HELPER},
	{"operator new(unsigned long, std::nothrow_t const&)", PLH_SERVER_HELPER},
	{"operator new[](unsigned long)", PLH_SERVER_HELPER},
	{"operator new[](unsigned long, std::align_val_t)", PLH_SERVER_HELPER},
	{"operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)", PLH_SERVER_HELPER},
	{"operator new[](unsigned long, std::nothrow_t const&)", PLH_SERVER_HELPER},
	{"palloc", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"palloc0", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"palloc0_mul", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"palloc_aligned", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"palloc_extended", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"palloc_mul", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"palloc_mul_extended", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"pg_malloc", PLH_SERVER_HELPER},
	{"pg_malloc0", PLH_SERVER_HELPER},
	{"pg_malloc_extended", PLH_SERVER_HELPER},
	{"pg_malloc_internal", PLH_SERVER_HELPER},
	{"pg_realloc", PLH_SERVER_HELPER},
	{"pg_strdup", PLH_SERVER_HELPER},
	{"pg_strndup", PLH_SERVER_HELPER},
	{"pnstrdup", PLH_SERVER_HELPER},
	{"psprintf", PLH_SERVER_HELPER},
	{"pstrdup", PLH_SERVER_HELPER},
	{"pvsnprintf", PLH_SERVER_HELPER},
	{"realloc", PLH_SERVER_HELPER},
	{"repalloc", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"repalloc0", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"repalloc_extended", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"repalloc_huge", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"repalloc_mul", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"repalloc_mul_extended", PLH_SERVER_ALLOCATOR | PLH_SERVER_HELPER},
	{"seg_alloc", PLH_SERVER_HELPER},
	{"smgropen", PLH_SERVER_BOUNDED_CACHE},
	{"strdup", PLH_SERVER_HELPER},
	{"strndup", PLH_SERVER_HELPER},
	{"text_to_cstring", PLH_SERVER_HELPER},
	{"vasprintf", PLH_SERVER_HELPER},
	{"wcsdup", PLH_SERVER_HELPER},
	{"xmlCharStrdup", PLH_SERVER_HELPER},
	{"xmlCharStrndup", PLH_SERVER_HELPER},
	{"xmlMallocAtomicLoc", PLH_SERVER_HELPER},
	{"xmlMallocLoc", PLH_SERVER_HELPER},
	{"xmlMemMalloc", PLH_SERVER_HELPER},
	{"xmlMemRealloc", PLH_SERVER_HELPER},
	{"xmlMemStrdup", PLH_SERVER_HELPER},
	{"xmlMemStrdupLoc", PLH_SERVER_HELPER},
	{"xmlMemoryStrdup", PLH_SERVER_HELPER},
	{"xmlReallocLoc", PLH_SERVER_HELPER},
	{"xmlStrdup", PLH_SERVER_HELPER},
	{"xmlStrndup", PLH_SERVER_HELPER},
	{"xmlUTF8Strndup", PLH_SERVER_HELPER}
};

/*
 * Is the table in the order that bsearch needs, without any name twice?
 */
bool
plh_server_functions_are_sorted(void)
{
	for (int i = 1; i < lengthof(server_functions); i++)
	{
		if (strcmp(server_functions[i - 1].name,
				   server_functions[i].name) >= 0)
			return false;
	}
	return true;
}

/* This bsearch callback compares a name with that of an element. */
static int
compare_name(const void *key, const void *element)
{
	return strcmp((const char *) key,
				  ((const PlhServerFunction *) element)->name);
}

/*
 * Does the function of that name have the flag?  NULL stands for a function
 * whose name is not known, which has no flag.
 */
bool
plh_server_functions_has(const char *name, int flag)
{
	const PlhServerFunction *function;

	if (name == NULL)
		return false;
	function = bsearch(name, server_functions, lengthof(server_functions),
					   sizeof(server_functions[0]), compare_name);
	return function != NULL && (function->flags & flag) != 0;
}

/*
 * Returns the function with that flag that follows "previous" in the order of
 * names, or the first one if "previous" is NULL; NULL after the last.
 */
const PlhServerFunction *
plh_server_functions_next(const PlhServerFunction *previous, int flag)
{
	const PlhServerFunction *function =
		previous == NULL ? server_functions : previous + 1;

	for (; function < server_functions + lengthof(server_functions); function++)
	{
		if ((function->flags & flag) != 0)
			return function;
	}
	return NULL;
}
