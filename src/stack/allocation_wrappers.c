/*
 * allocation_wrappers.c
 *	  The functions of the server, and of libraries, that mean something in a stack, by name,
 *	  where the server's lie, and which frame of a stack is the call site.
 *
 * Each function stands in one of the lists, so that a new way to call palloc is added in one place.
 * Not every supported version has all of the functions.
 *
 * Allocation wrappers that are built on top of the allocator (pstrdup, lappend, ...) are no
 * allocators: they stay in the stack, and the first frame that is no wrapper is the call site.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "base/fork.h"
#include "base/page_layout.h"
#include "stack/allocation_wrappers.h"

/*
 * Functions stand in the order of strcmp, and in one list each.
 *
 * Calls of palloc pass through these to reach a context's methods.
 */
static const char *const allocators[] = {
	"MemoryContextAlloc", "MemoryContextAllocAligned", "MemoryContextAllocExtended",
	"MemoryContextAllocHuge", "MemoryContextAllocZero", "MemoryContextAllocZeroAligned", "palloc",
	"palloc0", "palloc0_mul", "palloc_aligned", "palloc_extended", "palloc_mul",
	"palloc_mul_extended", "repalloc", "repalloc0", "repalloc_extended", "repalloc_huge",
	"repalloc_mul", "repalloc_mul_extended"
};

/*
 * These do little else than allocate, too: what the server and libraries build on them and on
 * malloc.  What libraries wrap around malloc is no call site either.  Functions of C++ stand here
 * twice: by the names that binaries have, which an exit sees (top_site.c), and by those for people.
 */
static const char *const pruned_wrappers[] = {
	"AllocSetContextCreateInternal", "CRYPTO_clear_realloc", "CRYPTO_malloc", "CRYPTO_memdup",
	"CRYPTO_realloc", "CRYPTO_strdup", "CRYPTO_strndup", "CRYPTO_zalloc", "DynaHashAlloc",
	"GenerationContextCreate", "MemoryContextCreate", "MemoryContextStrdup", "Perl_more_bodies",
	"Perl_more_sv", "Perl_safesyscalloc", "Perl_safesysmalloc", "Perl_safesysrealloc",
	"Perl_savepv", "Perl_savepvn", "Perl_savesharedpv", "Perl_savesharedpvn", "Perl_savesharedsvpv",
	"Perl_sv_grow", "Perl_sv_grow_fresh", "PyMem_Calloc", "PyMem_Malloc", "PyMem_RawCalloc",
	"PyMem_RawMalloc", "PyMem_RawRealloc", "PyMem_Realloc", "PyObject_Calloc", "PyObject_Malloc",
	"PyObject_Realloc", "PyType_GenericAlloc", "SlabContextCreate", "_PyMem_RawCalloc",
	"_PyMem_RawMalloc", "_PyMem_RawRealloc", "_PyMem_RawStrdup", "_PyMem_Strdup",
	"_PyObject_Calloc", "_PyObject_GC_New", "_PyObject_GC_NewVar", "_PyObject_GC_Resize",
	"_PyObject_Malloc", "_PyObject_New", "_PyObject_NewVar", "_PyObject_Realloc",
	"_ZN4llvm15SmallVectorBaseIjE13mallocForGrowEmmRm",
	"_ZN4llvm15SmallVectorBaseIjE8grow_podEPvmm",
	"_ZN4llvm15SmallVectorBaseImE13mallocForGrowEmmRm",
	"_ZN4llvm15SmallVectorBaseImE8grow_podEPvmm", "_ZN4llvm15allocate_bufferEmm", "_Znam",
	"_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t", "_Znwm",
	"_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
	"__GI___strdup", "__GI___strndup", "___asprintf", "___asprintf_chk", "___vasprintf_chk",
	"__asprintf", "__asprintf_chk", "__strdup", "__strndup", "__vasprintf_chk",
	"__vasprintf_internal", "__wcsdup", "appendBinaryStringInfo", "appendBinaryStringInfoNT",
	"appendStringInfo", "appendStringInfoChar", "appendStringInfoSpaces", "appendStringInfoString",
	"appendStringInfoVA", "asprintf", "bms_add_member", "bms_add_members", "bms_add_range",
	"bms_copy", "bms_difference", "bms_intersect", "bms_make_singleton", "bms_union", "calloc",
	"copyObjectImpl", "cstring_to_text", "cstring_to_text_with_len", "datumCopy", "element_alloc",
	"enlargeStringInfo", "enlarge_list", "g_malloc", "g_malloc0", "g_malloc0_n", "g_malloc_n",
	"g_memdup", "g_memdup2", "g_realloc", "g_realloc_n", "g_slice_alloc", "g_slice_alloc0",
	"g_strdup", "g_strndup", "g_try_malloc", "g_try_malloc0", "g_try_malloc0_n", "g_try_malloc_n",
	"g_try_realloc", "g_try_realloc_n", "get_hash_entry", "guc_malloc", "guc_realloc", "guc_strdup",
	"hash_create", "hash_search", "hash_search_with_hash_value", "initStringInfo", "lappend",
	"lappend_int", "lappend_oid", "lappend_xid", "lcons", "lcons_int", "lcons_oid", "list_concat",
	"list_concat_copy", "list_copy", "list_copy_deep", "list_insert_nth", "list_make1_impl",
	"list_make2_impl", "list_make3_impl", "list_make4_impl", "list_make5_impl",
	"llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)",
	"llvm::SmallVectorBase<unsigned int>::mallocForGrow(unsigned long, unsigned long, unsigned long&)",
	"llvm::SmallVectorBase<unsigned long>::grow_pod(void*, unsigned long, unsigned long)",
	"llvm::SmallVectorBase<unsigned long>::mallocForGrow(unsigned long, unsigned long, unsigned long&)",
	"llvm::allocate_buffer(unsigned long, unsigned long)", "makeStringInfo", "malloc", "newNode",
	"new_head_cell", "new_list", "new_tail_cell", "operator new(unsigned long)",
	"operator new(unsigned long, std::align_val_t)",
	"operator new(unsigned long, std::align_val_t, std::nothrow_t const&)",
	"operator new(unsigned long, std::nothrow_t const&)", "operator new[](unsigned long)",
	"operator new[](unsigned long, std::align_val_t)",
	"operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)",
	"operator new[](unsigned long, std::nothrow_t const&)", "pg_malloc", "pg_malloc0",
	"pg_malloc_extended", "pg_malloc_internal", "pg_realloc", "pg_strdup", "pg_strndup", "pnstrdup",
	"psprintf", "pstrdup", "pvsnprintf", "realloc", "seg_alloc", "strdup", "strndup",
	"text_to_cstring", "vasprintf", "wcsdup", "xmlCharStrdup", "xmlCharStrndup",
	"xmlMallocAtomicLoc", "xmlMallocLoc", "xmlMemMalloc", "xmlMemRealloc", "xmlMemStrdup",
	"xmlMemStrdupLoc", "xmlMemoryStrdup", "xmlReallocLoc", "xmlStrdup", "xmlStrndup",
	"xmlUTF8Strndup"
};

/*
 * These allocate for their callers, and do other work, too.
 *
 * Such a function returns what it allocates to its caller, or adds it to what the caller hands
 * over: makers and copies of nodes, tuples and values, names of objects, lists, arrays, buffers and
 * tuplestores.  Caches, the executor's nodes, and what SQL calls, such as array_set_element, are no
 * wrappers: they are what a reader looks for.
 */
static const char *const wrappers[] = {
	"ArrayGetIntegerTypmods", "BuildDescForRelation", "BuildDescFromLists",
	"BuildTupleFromCStrings", "CopyErrorData", "CopyIndexTuple", "CopyTriggerDesc",
	"CreateDestReceiver", "CreateExecutorState", "CreateQueryDesc", "CreateStandaloneExprContext",
	"CreateTemplateTupleDesc", "CreateTupleDesc", "CreateTupleDescCopy",
	"CreateTupleDescCopyConstr", "CreateTupleDescTruncatedCopy", "CreateTuplestoreDestReceiver",
	"DatumGetAnyArrayP", "DatumGetExpandedArray", "DatumGetExpandedArrayX",
	"DatumGetExpandedRecord", "ExecCleanTypeFromTL", "ExecFetchSlotHeapTupleDatum",
	"ExecTypeFromExprList", "ExecTypeFromTL", "ExecTypeFromTLInternal", "GUCArrayAdd",
	"GetConfigOptionByName", "GetDatabasePath", "GetRelationPath", "GetUserNameFromId",
	"HeapTupleHeaderGetDatum", "InitMaterializedSRF", "InstrAlloc", "JsonEncodeDateTime",
	"JsonbIteratorInit", "JsonbValueToJsonb", "MakeExpandedObjectReadOnlyInternal",
	"MakeSingleTupleTableSlot", "MakeTupleTableSlot", "NameListToQuotedString", "NameListToString",
	"PLyObject_AsString", "PLyUnicode_AsString", "PLyUnicode_Bytes", "PLyUnicode_FromString",
	"PLyUnicode_FromStringAndSize", "SPI_copytuple", "SPI_datumTransfer", "SPI_fname",
	"SPI_getnspname", "SPI_getrelname", "SPI_gettype", "SPI_getvalue", "SPI_modifytuple",
	"SPI_palloc", "SPI_repalloc", "SPI_returntuple", "SetSingleFuncCall", "ShowGUCOption",
	"SplitDirectoriesString", "SplitGUCList", "SplitIdentifierString", "TransferExpandedObject",
	"TupleDescGetAttInMetadata", "TypeNameListToString", "TypeNameToString", PLH_PROBED_FUNCTION,
	"accumArrayResult", "accumArrayResultAny", "accumArrayResultArr", "aclconcat", "aclcopy",
	"acldefault", "aclmembers", "aclmerge", "aclupdate", "alloc_var", "allocacl", "appendElement",
	"appendKey", "appendToBuffer", "appendValue", "array_create_iterator",
	"begin_tup_output_tupdesc", "binaryheap_allocate", "bloom_create", "bmsToString",
	"bms_del_member", "bms_del_members", "bms_int_members", "bms_join", "bms_prev_member",
	"bms_replace_members", "build_attrmap_by_name", "build_attrmap_by_name_if_req",
	"build_attrmap_by_position", "buildint2vector", "buildoidvector",
	"check_valid_internal_signature", "check_valid_polymorphic_signature", "construct_array",
	"construct_array_builtin", "construct_empty_array", "construct_empty_expanded_array",
	"construct_md_array", "convertToJsonb", "convert_tuples_by_name",
	"convert_tuples_by_name_attrmap", "convert_tuples_by_position", "copyParamList",
	"copy_byval_expanded_array", "copy_pathtarget", "copytup_heap", "create_array_envelope",
	"create_empty_pathtarget", "datumRestore", "datumTransfer", "debackslash", "deconstruct_array",
	"deconstruct_array_builtin", "deconstruct_expanded_array", "deconstruct_expanded_record",
	"defGetQualifiedName", "defGetString", "defGetStringList", "detoast_attr", "detoast_attr_slice",
	"detoast_external_attr", "downcase_identifier", "downcase_truncate_identifier",
	"duplicate_numeric", "escape_json", "escape_json_char", "escape_json_text",
	"escape_json_with_len", "execute_attr_map_cols", "execute_attr_map_tuple", "expand_array",
	"expand_tuple", "expanded_record_fetch_tupdesc", "expanded_record_get_tuple",
	"expanded_record_set_field_internal", "expanded_record_set_fields", "expanded_record_set_tuple",
	"expression_tree_mutator", "expression_tree_mutator_impl", "fetch_search_path",
	"findJsonbValueFromContainer", "find_all_inheritors", "find_inheritance_children",
	"find_inheritance_children_extended", "flatCopyTargetEntry", "format_operator",
	"format_operator_extended", "format_operator_parts", "format_operator_qualified",
	"format_procedure", "format_procedure_extended", "format_procedure_parts",
	"format_procedure_qualified", "format_type_be", "format_type_be_qualified",
	"format_type_extended", "format_type_with_typemod", "func_signature_string",
	"funcname_signature_string", "getIthJsonbValueFromContainer", "getKeyJsonValueFromContainer",
	"getObjectDescription", "getObjectDescriptionOids", "getObjectIdentity",
	"getObjectIdentityParts", "getObjectTypeDescription", "get_am_name", "get_attname",
	"get_attoptions", "get_collation_name", "get_constraint_name", "get_database_name",
	"get_extension_name", "get_func_arg_info", "get_func_input_arg_names", "get_func_name",
	"get_language_name", "get_mergejoin_opfamilies", "get_namespace_name",
	"get_namespace_name_or_temp", "get_op_btree_interpretation", "get_opname",
	"get_publication_name", "get_rel_name", "get_short_term_cxt", "get_sortgrouplist_exprs",
	"get_str_from_var", "get_subscription_name", "get_tablespace_name", "grow_memtuples",
	"heap_copy_minimal_tuple", "heap_copy_tuple_as_datum", "heap_copytuple",
	"heap_copytuple_with_tuple", "heap_expand_tuple", "heap_form_minimal_tuple", "heap_form_tuple",
	"heap_modify_tuple", "heap_modify_tuple_by_cols", "heap_tuple_fetch_attr",
	"heap_tuple_from_minimal_tuple", "hek2cstr", "icu_language_tag", "index_form_tuple",
	"index_form_tuple_context", "initArrayResult", "initArrayResultAny", "initArrayResultArr",
	"initArrayResultWithSize", "init_MultiFuncCall", "insert_new_cell", "int64_div_fast_to_numeric",
	"int64_to_numeric", "iteratorFromContainer", "lappend_cell", "list_append_unique",
	"list_append_unique_int", "list_append_unique_oid", "list_append_unique_ptr",
	"list_concat_unique", "list_concat_unique_int", "list_concat_unique_oid",
	"list_concat_unique_ptr", "list_copy_head", "list_copy_tail", "list_difference",
	"list_difference_int", "list_difference_oid", "list_difference_ptr", "list_insert_nth_int",
	"list_insert_nth_oid", "list_intersection", "list_intersection_int", "list_union",
	"list_union_int", "list_union_oid", "list_union_ptr", "lz4_compress_datum",
	"lz4_decompress_datum", "lz4_decompress_datum_slice", "makeA_Expr", "makeAlias",
	"makeArrayResult", "makeArrayResultAny", "makeArrayResultArr", "makeBitString", "makeBoolConst",
	"makeBoolExpr", "makeBoolean", "makeColumnDef", "makeConst", "makeDefElem",
	"makeDefElemExtended", "makeFloat", "makeFromExpr", "makeFuncCall", "makeFuncExpr",
	"makeGroupingSet", "makeIndexInfo", "makeInteger", "makeJsonBehavior", "makeJsonFormat",
	"makeJsonIsPredicate", "makeJsonKeyValue", "makeJsonLexContext", "makeJsonLexContextCstringLen",
	"makeJsonLexContextIncremental", "makeJsonTablePath", "makeJsonTablePathSpec",
	"makeJsonValueExpr", "makeMdArrayResult", "makeNullConst", "makeObjectName", "makeParamList",
	"makeRangeVar", "makeRangeVarFromNameList", "makeRelabelType", "makeSimpleA_Expr", "makeString",
	"makeStringAggState", "makeStringConst", "makeStringInfoExt", "makeStringInfoInternal",
	"makeTargetEntry", "makeTypeName", "makeTypeNameFromNameList", "makeTypeNameFromOid",
	"makeVacuumRelation", "makeVar", "makeVarFromTargetEntry", "makeWholeRowVar", "make_and_qual",
	"make_andclause", "make_ands_explicit", "make_ands_implicit", "make_attrmap", "make_empty_acl",
	"make_expanded_record_from_datum", "make_expanded_record_from_exprecord",
	"make_expanded_record_from_tupdesc", "make_expanded_record_from_typeid", "make_multirange",
	"make_notclause", "make_opclause", "make_orclause", "make_parsestate",
	"make_pathtarget_from_tlist", "make_range", "make_result", "make_result_opt_error",
	"make_result_safe", "make_tlist_from_pathtarget", "mbms_add_member", "mbms_add_members",
	"mbms_int_members", "minimal_expand_tuple", "minimal_tuple_from_heap_tuple",
	"new_object_addresses", "nodeRead", "nodeToString", "nodeToStringInternal",
	"nodeToStringWithLocations", "oid_array_to_list", "op_signature_string", "outBitmapset",
	"outDatum", "outNode", "outToken", "padBufferToInt", "pairingheap_allocate", "parseNodeString",
	"pchomp", "perform_default_encoding_conversion", "pg_any_to_server", "pg_clean_ascii",
	"pg_client_to_server", "pg_detoast_datum", "pg_detoast_datum_copy", "pg_detoast_datum_packed",
	"pg_detoast_datum_slice", "pg_do_encoding_conversion", "pg_get_line", "pg_get_line_append",
	"pg_get_line_buf", "pg_server_to_any", "pg_server_to_client", "pglz_compress_datum",
	"pglz_decompress_datum", "pglz_decompress_datum_slice", "pq_beginmessage", "pq_begintypsend",
	"pq_endtypsend", "pq_getmsgtext", "pq_send_ascii_string", "pq_sendbytes", "pq_sendcountedtext",
	"pq_sendstring", "pq_sendtext", "pushJsonbValue", "pushJsonbValueScalar", "pushState",
	"query_or_expression_tree_mutator", "query_or_expression_tree_mutator_impl",
	"query_tree_mutator", "query_tree_mutator_impl", "quote_identifier", "quote_literal_cstr",
	"quote_qualified_identifier", "range_serialize", "range_table_mutator",
	"range_table_mutator_impl", "rbt_create", "readBitmapset", "readDatum",
	"replace_percent_placeholders", "reserveFromBuffer", "str_casefold", "str_initcap",
	"str_tolower", "str_toupper", "stringToNode", "stringToNodeInternal",
	"stringToNodeWithLocations", "stringToQualifiedNameList", "stringinfo_to_xmltype",
	"strlist_to_textarray", "sv2cstr", "tbm_begin_iterate", "tbm_create", "textToQualifiedNameList",
	"toast_build_flattened_tuple", "toast_compress_datum", "toast_decompress_datum",
	"toast_decompress_datum_slice", "toast_fetch_datum", "toast_fetch_datum_slice",
	"toast_flatten_tuple", "toast_flatten_tuple_to_datum", "transformRelOptions",
	"tts_buffer_heap_copy_heap_tuple", "tts_buffer_heap_copy_minimal_tuple",
	"tts_heap_copy_heap_tuple", "tts_heap_copy_minimal_tuple", "tts_minimal_copy_heap_tuple",
	"tts_minimal_copy_minimal_tuple", "tts_virtual_copy_heap_tuple",
	"tts_virtual_copy_minimal_tuple", "tuplesort_begin_cluster", "tuplesort_begin_common",
	"tuplesort_begin_datum", "tuplesort_begin_heap", "tuplesort_putdatum", "tuplesort_putheaptuple",
	"tuplesort_putindextuplevalues", "tuplesort_puttuple_common", "tuplesort_puttupleslot",
	"tuplestore_begin_common", "tuplestore_begin_heap", "tuplestore_puttuple",
	"tuplestore_puttuple_common", "tuplestore_puttupleslot", "tuplestore_putvalues",
	"untransformRelOptions", "utf_e2u", "utf_u2e", "wait_result_to_str", "xmlBuffer_to_xmltype",
	"xml_out_internal"
};

/*
 * The bounded caches are the temporary buffers (temp_buffers is their bound), locks, open files,
 * descriptions of tables from before they were changed, and the facts about types and text search
 * objects that are kept for a session.
 *
 * Anonymous record types have no bound: see site_family.c.
 */
static const char *const bounded_caches[] = {
	"ExtendBufferedRelLocal", "GetLocalVictimBuffer", "LocalBufferAlloc", "LockAcquireExtended",
	"RelationBuildLocalRelation", "RelationCacheInvalidate", "RelationCacheInvalidateEntry",
	"RelationIdGetRelation", "index_getprocinfo", "lookup_ts_config_cache",
	"lookup_ts_dictionary_cache", "lookup_ts_parser_cache", "lookup_type_cache", "smgropen"
};

/*
 * The caches of catalogs are full when a session has used all of its tables, types and functions
 * once.
 */
static const char *const catalog_caches[] = {
	"BuildEventTriggerCache", "CatCacheCopyKeys", "CatalogCacheCreateEntry",
	"CatalogCacheInitializeCache", "EventCacheLookup", "InitCatCachePhase2", "RelationBuildDesc",
	"RelationBuildPublicationDesc", "RelationBuildTriggers", "RelationCacheInitializePhase3",
	"RelationGetFKeyList", "RelationGetIdentityKeyBitmap", "RelationGetIndexAttrBitmap",
	"RelationGetIndexExpressions", "RelationGetIndexList", "RelationGetIndexPredicate",
	"RelationGetPartitionDesc", "RelationGetPartitionKey", "RelationGetPartitionQual",
	"RelationGetReplicaIndex", "RelationGetStatExtList", "RelationInitIndexAccessInfo",
	"RelationInitTableAccessMethod", "SearchCatCache", "SearchCatCache1", "SearchCatCache2",
	"SearchCatCache3", "SearchCatCache4", "SearchCatCacheInternal", "SearchCatCacheList",
	"SearchCatCacheMiss", "get_attribute_options", "get_tablespace", "load_relcache_init_file",
	"logicalrep_partition_open", "logicalrep_rel_open"
};

/*
 * What every process, statement, expression or call passes through.
 */
static const char *const entries[] = {
	"AutoVacLauncherMain", "AutoVacWorkerMain", "AuxiliaryProcessMain", "BackendMain", "BackendRun",
	"BackendStartup", "BackgroundWorkerMain", "DirectFunctionCall1Coll", "DirectFunctionCall2Coll",
	"ExecInterpExpr", "ExecInterpExprStillValid", "ExecProcNode", "ExecProcNodeFirst",
	"ExecProcNodeInstr", "ExecResult", "ExecScan", "ExecutePlan", "ExecutorRun",
	"FunctionCall0Coll", "FunctionCall1Coll", "FunctionCall2Coll", "FunctionCall3Coll",
	"FunctionCall4Coll", "FunctionCall5Coll", "FunctionCall6Coll", "FunctionCallInvoke",
	"InputFunctionCall", "OidFunctionCall0Coll", "OidFunctionCall1Coll", "OidFunctionCall2Coll",
	"OidInputFunctionCall", "OidOutputFunctionCall", "OutputFunctionCall", "PortalRun",
	"PortalRunFetch", "PortalRunMulti", "PortalRunSelect", "PortalRunUtility", "PortalStart",
	"PostgresMain", "PostgresSingleUserMain", "PostmasterMain", "ProcessQuery", "ProcessUtility",
	"ProcessUtilitySlow", "SPI_cursor_fetch", "SPI_cursor_open", "SPI_exec", "SPI_execute",
	"SPI_execute_extended", "SPI_execute_plan", "SPI_execute_plan_extended",
	"SPI_execute_plan_with_paramlist", "SPI_execute_snapshot", "SPI_execute_with_args",
	"ServerLoop", "StartBackgroundWorker", "StartChildProcess", "_SPI_execute_plan", "__clone3",
	"__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl", "_start", "clone",
	"clone3", "exec_bind_message", "exec_execute_message", "exec_parse_message",
	"exec_simple_query", "fmgr_security_definer", "main", "postmaster_child_launch",
	"standard_ExecutorRun", "standard_ProcessUtility", "start_thread"
};

/* What is known of the functions of each list: PLH_FUNCTION_*. */
static const struct
{
	const char *const *names;
	int			count;
	int			flags;
}			lists[] = {

	{allocators, lengthof(allocators),
	PLH_FUNCTION_ALLOCATOR | PLH_FUNCTION_WRAPPER | PLH_FUNCTION_PRUNED},
	{pruned_wrappers, lengthof(pruned_wrappers), PLH_FUNCTION_WRAPPER | PLH_FUNCTION_PRUNED},
	{wrappers, lengthof(wrappers), PLH_FUNCTION_WRAPPER},
	{bounded_caches, lengthof(bounded_caches), PLH_FUNCTION_BOUNDED_CACHE},
	{catalog_caches, lengthof(catalog_caches), PLH_FUNCTION_CATALOG_CACHE},
	{entries, lengthof(entries), PLH_FUNCTION_ENTRY}
};

/*
 * The functions that copy, read and write one kind of nodes each, such as _copyQuery: there are
 * hundreds, and they begin so, with the node's name next.
 */
static const char *const node_prefixes[] = {"_copy", "_out", "_read"};

/* Where those of the server lie that are wrappers, by address; room for all that the lists have. */
#define MAX_LOCATED 1024
static PLH_SAME_IN_CHILD PLH_LARGE PlhCodeRange located[MAX_LOCATED];
static PLH_SAME_IN_CHILD int located_count;

static bool
is_node_wrapper(const char *name)
{
	if (name[0] != '_')
		return false;
	for (int i = 0; i < lengthof(node_prefixes); i++)
	{
		size_t		length = strlen(node_prefixes[i]);

		if (strncmp(name, node_prefixes[i], length) == 0)
			return name[length] >= 'A' && name[length] <= 'Z';
	}
	return false;
}

static int
compare_name(const void *key, const void *element)
{
	return strcmp((const char *) key, *(const char *const *) element);
}

/* NULL stands for a function whose name is not known, which has no flag. */
bool
plh_allocation_wrappers_has(const char *name, int flag)
{
	if (name == NULL)
		return false;
	if (is_node_wrapper(name))
		return (flag & PLH_FUNCTION_WRAPPER) != 0;
	for (int i = 0; i < lengthof(lists); i++)
		if (bsearch(name, lists[i].names, lists[i].count, sizeof(char *), compare_name) != NULL)
			return (lists[i].flags & flag) != 0;
	return false;
}

/* Moves "place", which is 0 at first, behind the next function with that flag; NULL: the end. */
const char *
plh_allocation_wrappers_next(int *place, int flag)
{
	int			start = 0;

	for (int i = 0; i < lengthof(lists); i++)
	{
		int			end = start + lists[i].count;

		if ((lists[i].flags & flag) != 0 && *place < end)
		{
			*place = Max(*place, start) + 1;
			return lists[i].names[*place - 1 - start];
		}
		start = end;
	}
	return NULL;
}

bool
plh_allocation_wrappers_code(const char *name, PlhCodeRange *range)
{
	void	   *address = dlsym(RTLD_DEFAULT, name);
	Dl_info		info;
	const Elf64_Sym *symbol = NULL;

	if (address == NULL ||
		dladdr1(address, &info, (void **) &symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL)
		return false;
	range->start = (uintptr_t) address;
	range->end = (uintptr_t) address + symbol->st_size;

	return true;
}

static int
compare_ranges(const void *a, const void *b)
{
	uintptr_t	one = ((const PlhCodeRange *) a)->start;
	uintptr_t	other = ((const PlhCodeRange *) b)->start;

	return one < other ? -1 : one > other;
}

void
plh_allocation_wrappers_locate(void)
{
	const char *function;
	int			place = 0;

	if (located_count > 0)
		return;
	while (located_count < MAX_LOCATED &&
		   (function = plh_allocation_wrappers_next(&place, PLH_FUNCTION_WRAPPER)) != NULL)
		located_count += plh_allocation_wrappers_code(function, &located[located_count]);
	qsort(located, located_count, sizeof(PlhCodeRange), compare_ranges);
}

static int
compare_address(const void *key, const void *element)
{
	uintptr_t	address = *(const uintptr_t *) key;
	const PlhCodeRange *range = element;

	return plh_code_range_has(range, address) ? 0 : address < range->start ? -1 : 1;
}

bool
plh_allocation_wrappers_have(uintptr_t address)
{
	return bsearch(&address, located, located_count, sizeof(PlhCodeRange), compare_address) != NULL;
}

PlhFrameKind
plh_allocation_wrappers_kind(const char *function)
{
	if (function == NULL)
		return PLH_FRAME_UNNAMED;
	return plh_allocation_wrappers_has(function, PLH_FUNCTION_WRAPPER) ?
		PLH_FRAME_WRAPPER : PLH_FRAME_FUNCTION;
}

/*
 * The innermost frame that allocates for itself; 0: none.  A frame without a name just inside an
 * allocation wrapper is a static function of the wrapper's own.
 */
uint32
plh_allocation_wrappers_call_site(const void *frames, uint32 count, PlhFrameKindOf kind_of)
{
	uint32		site = 0;

	while (site < count)
	{
		PlhFrameKind kind = kind_of(frames, site);

		if (kind == PLH_FRAME_WRAPPER)
			site++;
		else if (kind == PLH_FRAME_UNNAMED && site + 1 < count &&
				 kind_of(frames, site + 1) == PLH_FRAME_WRAPPER)
			site += 2;
		else
			return site;
	}
	return 0;
}
