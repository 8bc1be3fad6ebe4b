/*
 * cache_names.h
 *	  The functions that fill caches and tables of the server.
 *
 * Only allocation_wrappers.c includes this table.
 */
#ifndef PLH_CACHE_NAMES_H
#define PLH_CACHE_NAMES_H

#include "stack/known_function.h"

/*
 * In the order of strcmp.
 *
 * The caches of catalogs are full when a session has used all of its tables, types and
 * functions once.
 *
 * The bounded caches are the temporary buffers (temp_buffers is their bound),
 * locks, open files, descriptions of tables from before they were changed, and
 * the facts about types and text search objects that are kept for a session.
 *
 * Anonymous record types have no bound: see site_family.c.
 */
static const PlhKnownFunction cache_names[] = {
	{"BuildEventTriggerCache", PLH_FUNCTION_CATALOG_CACHE},
	{"CatCacheCopyKeys", PLH_FUNCTION_CATALOG_CACHE},
	{"CatalogCacheCreateEntry", PLH_FUNCTION_CATALOG_CACHE},
	{"CatalogCacheInitializeCache", PLH_FUNCTION_CATALOG_CACHE},
	{"EventCacheLookup", PLH_FUNCTION_CATALOG_CACHE},
	{"ExtendBufferedRelLocal", PLH_FUNCTION_BOUNDED_CACHE},
	{"GetLocalVictimBuffer", PLH_FUNCTION_BOUNDED_CACHE},
	{"InitCatCachePhase2", PLH_FUNCTION_CATALOG_CACHE},
	{"LocalBufferAlloc", PLH_FUNCTION_BOUNDED_CACHE},
	{"LockAcquireExtended", PLH_FUNCTION_BOUNDED_CACHE},
	{"RelationBuildDesc", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationBuildLocalRelation", PLH_FUNCTION_BOUNDED_CACHE},
	{"RelationBuildPublicationDesc", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationBuildTriggers", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationCacheInitializePhase3", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationCacheInvalidate", PLH_FUNCTION_BOUNDED_CACHE},
	{"RelationCacheInvalidateEntry", PLH_FUNCTION_BOUNDED_CACHE},
	{"RelationGetFKeyList", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetIdentityKeyBitmap", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetIndexAttrBitmap", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetIndexExpressions", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetIndexList", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetIndexPredicate", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetPartitionDesc", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetPartitionKey", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetPartitionQual", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetReplicaIndex", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationGetStatExtList", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationIdGetRelation", PLH_FUNCTION_BOUNDED_CACHE},
	{"RelationInitIndexAccessInfo", PLH_FUNCTION_CATALOG_CACHE},
	{"RelationInitTableAccessMethod", PLH_FUNCTION_CATALOG_CACHE},
	{"SearchCatCache", PLH_FUNCTION_CATALOG_CACHE},
	{"SearchCatCache1", PLH_FUNCTION_CATALOG_CACHE},
	{"SearchCatCache2", PLH_FUNCTION_CATALOG_CACHE},
	{"SearchCatCache3", PLH_FUNCTION_CATALOG_CACHE},
	{"SearchCatCache4", PLH_FUNCTION_CATALOG_CACHE},
	{"SearchCatCacheInternal", PLH_FUNCTION_CATALOG_CACHE},
	{"SearchCatCacheList", PLH_FUNCTION_CATALOG_CACHE},
	{"SearchCatCacheMiss", PLH_FUNCTION_CATALOG_CACHE},
	{"get_attribute_options", PLH_FUNCTION_CATALOG_CACHE},
	{"get_tablespace", PLH_FUNCTION_CATALOG_CACHE},
	{"index_getprocinfo", PLH_FUNCTION_BOUNDED_CACHE},
	{"load_relcache_init_file", PLH_FUNCTION_CATALOG_CACHE},
	{"logicalrep_partition_open", PLH_FUNCTION_CATALOG_CACHE},
	{"logicalrep_rel_open", PLH_FUNCTION_CATALOG_CACHE},
	{"lookup_ts_config_cache", PLH_FUNCTION_BOUNDED_CACHE},
	{"lookup_ts_dictionary_cache", PLH_FUNCTION_BOUNDED_CACHE},
	{"lookup_ts_parser_cache", PLH_FUNCTION_BOUNDED_CACHE},
	{"lookup_type_cache", PLH_FUNCTION_BOUNDED_CACHE},
	{"smgropen", PLH_FUNCTION_BOUNDED_CACHE}
};

#endif							/* PLH_CACHE_NAMES_H */
