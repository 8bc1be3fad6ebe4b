/*
 * phase.c
 *	  What the server was doing when something was allocated, by the functions of a stack.
 *
 * The innermost function that is known counts: a function in SQL that the executor has called is
 * planned, too.  Most servers have no debug symbols, so these are functions that the server exports
 * to extensions: those that are static have no name there.
 */
#include "postgres.h"

#include "telling/phase.h"
#include "telling/site_family.h"

#define FUNCTIONS(...) ((const char *const[]) {__VA_ARGS__, NULL})

/* All that is known of a phase. */
static const struct
{
	const char *name;
	PlhPhase	parent;
	PlhSentence purpose;		/* a phrase; PLH_SENTENCES: its contexts tell
								 * more */
	PlhSentence meaning;		/* what such memory is; PLH_SENTENCES: that
								 * says it */
	PlhSentence help;
	const char *const *functions;
	bool		is_unlimited;	/* by settings */
}			phases[PLH_PHASES] = {

	[PLH_PHASE_UNKNOWN] = {
		NULL, PLH_PHASE_UNKNOWN, PLH_SENTENCES, PLH_SENTENCES, PLH_SENTENCES, NULL
	},
	[PLH_PHASE_PARSING] = {
		"parsing", PLH_PHASE_UNKNOWN,
		PLH_SAYS_purpose_parsing, PLH_SAYS_phase_parsing, PLH_SAYS_help_parsing,
		FUNCTIONS("raw_parser", "base_yyparse", "pg_parse_query", "parse_analyze_fixedparams",
				  "parse_analyze_varparams", "parse_analyze_withcb", "parse_sub_analyze",
				  "transformTopLevelStmt", "transformStmt", "pg_analyze_and_rewrite_fixedparams",
				  "pg_analyze_and_rewrite_varparams", "pg_analyze_and_rewrite_withcb"),
		true
	},
	[PLH_PHASE_REWRITING] = {
		"rewriting", PLH_PHASE_UNKNOWN,
		PLH_SAYS_purpose_rewriting, PLH_SAYS_phase_rewriting, PLH_SAYS_help_rewriting,
		FUNCTIONS("QueryRewrite", "pg_rewrite_query"), true
	},
	[PLH_PHASE_PLANNING] = {
		"planning", PLH_PHASE_UNKNOWN,
		PLH_SAYS_purpose_planning, PLH_SAYS_phase_planning, PLH_SENTENCES,
		FUNCTIONS("planner", "standard_planner", "pg_plan_query", "subquery_planner",
				  "query_planner"), true
	},
	[PLH_PHASE_PLANNING_JOINS] = {
		"planning of joins", PLH_PHASE_PLANNING,
		PLH_SAYS_purpose_joins, PLH_SAYS_phase_joins, PLH_SENTENCES,
		FUNCTIONS("standard_join_search", "join_search_one_level", "make_join_rel",
				  "add_paths_to_joinrel", "geqo"), true
	},
	[PLH_PHASE_PLANNING_PARTITIONS] = {
		"planning of partitions", PLH_PHASE_PLANNING,
		PLH_SAYS_purpose_partitions, PLH_SAYS_phase_partitions,
		PLH_SENTENCES,
		FUNCTIONS("expand_inherited_rtentry", "build_child_join_rel", "add_paths_to_append_rel",
				  "generate_partitionwise_join_paths"), true
	},
	[PLH_PHASE_STARTING] = {
		"start of the plan", PLH_PHASE_UNKNOWN,
		PLH_SAYS_purpose_starting, PLH_SAYS_phase_starting, PLH_SAYS_help_starting,
		FUNCTIONS("ExecutorStart", "standard_ExecutorStart", "ExecInitNode", "ExecFindPartition"),
		true
	},
	[PLH_PHASE_RUNNING] = {
		"running", PLH_PHASE_UNKNOWN, PLH_SENTENCES, PLH_SENTENCES, PLH_SENTENCES,
		FUNCTIONS("ExecutorRun", "standard_ExecutorRun", "ExecutorFinish",
				  "standard_ExecutorFinish", "ExecutorEnd", "standard_ExecutorEnd", "fmgr_sql",
				  "evaluate_expr", "ExecMakeTableFunctionResult")
	},
	[PLH_PHASE_TRIGGERS] = {
		"triggers", PLH_PHASE_RUNNING, PLH_SENTENCES, PLH_SENTENCES, PLH_SENTENCES,
		FUNCTIONS("AfterTriggerEndQuery", "AfterTriggerFireDeferred", "ExecBSInsertTriggers",
				  "ExecBSUpdateTriggers", "ExecBSDeleteTriggers", "ExecBRInsertTriggers",
				  "ExecBRUpdateTriggers", "ExecBRDeleteTriggers", "ExecIRInsertTriggers",
				  "ExecIRUpdateTriggers", "ExecIRDeleteTriggers")
	},
	[PLH_PHASE_COPYING] = {
		"COPY", PLH_PHASE_UNKNOWN, PLH_SAYS_purpose_copying, PLH_SENTENCES, PLH_SENTENCES,
		FUNCTIONS("DoCopy", "CopyFrom", "BeginCopyFrom", "DoCopyTo")
	},
	[PLH_PHASE_COPY_READING] = {
		"reading of COPY's input", PLH_PHASE_COPYING,
		PLH_SAYS_purpose_copy_reading, PLH_SAYS_phase_copy_reading,
		PLH_SAYS_help_copy_reading,
		FUNCTIONS("NextCopyFromRawFields", "NextCopyFrom")
	},
	[PLH_PHASE_INDEX_BUILD] = {
		"index build", PLH_PHASE_UNKNOWN,
		PLH_SAYS_purpose_index_build, PLH_SENTENCES, PLH_SAYS_help_index_build,
		FUNCTIONS("index_build", "validate_index", "btbuild", "ginbuild", "gistbuild", "hashbuild",
				  "brinbuild", "spgbuild", "_bt_parallel_build_main",
				  "_gin_parallel_build_main", "_brin_parallel_build_main")
	},
	[PLH_PHASE_VACUUM] = {
		"VACUUM", PLH_PHASE_UNKNOWN, PLH_SAYS_purpose_vacuum, PLH_SENTENCES, PLH_SENTENCES,
		FUNCTIONS("heap_vacuum_rel", "parallel_vacuum_main", "vacuum")
	},
	[PLH_PHASE_ANALYZE] = {
		"ANALYZE", PLH_PHASE_UNKNOWN, PLH_SENTENCES, PLH_SENTENCES, PLH_SENTENCES, FUNCTIONS("analyze_rel")
	},
	[PLH_PHASE_TABLE_REWRITE] = {
		"rewrite of a table", PLH_PHASE_UNKNOWN, PLH_SENTENCES, PLH_SENTENCES, PLH_SENTENCES,
		FUNCTIONS("cluster_rel", "begin_heap_rewrite", "rewrite_heap_tuple",
				  "rewrite_heap_dead_tuple", "end_heap_rewrite")
	},
	[PLH_PHASE_COMMIT] = {
		"commit", PLH_PHASE_UNKNOWN, PLH_SAYS_purpose_commit, PLH_SENTENCES, PLH_SENTENCES,
		FUNCTIONS("CommitTransactionCommand", "ReleaseCurrentSubTransaction")
	},
	[PLH_PHASE_DECODING] = {
		"decoding", PLH_PHASE_UNKNOWN, PLH_SENTENCES, PLH_SENTENCES, PLH_SENTENCES,
		FUNCTIONS("LogicalDecodingProcessRecord", "ReorderBufferCommit",
				  "ReorderBufferAssignChild", "ReorderBufferCommitChild")
	},
	[PLH_PHASE_DECODING_CATALOGS] = {
		"decoding of changes to catalogs", PLH_PHASE_DECODING,
		PLH_SAYS_purpose_decoding_catalogs, PLH_SAYS_phase_decoding_catalogs,
		PLH_SAYS_help_decoding_catalogs,
		FUNCTIONS("ReorderBufferAddInvalidations", "ReorderBufferAddDistributedInvalidations",
				  "ReorderBufferAddNewTupleCids", "ReorderBufferAddNewCommandId",
				  "SnapBuildProcessNewCid")
	},
	[PLH_PHASE_CACHE_REBUILD] = {
		"rebuild of caches", PLH_PHASE_UNKNOWN,
		PLH_SAYS_purpose_cache_rebuild, PLH_SENTENCES, PLH_SENTENCES,
		FUNCTIONS("RelationIdGetRelation", "RelationCacheInvalidate",
				  "RelationCacheInvalidateEntry", "AcceptInvalidationMessages")
	},
	[PLH_PHASE_JIT] = {
		"JIT", PLH_PHASE_UNKNOWN, PLH_SAYS_purpose_jit, PLH_SENTENCES, PLH_SAYS_help_jit,
		FUNCTIONS("jit_compile_expr")
	}
};

/* Functions that make what the planner considers. */
static const char *const *const planned_by[PLH_PLANNED_KINDS] = {
	[PLH_PLANNED_PARTITION_JOINS] =
	FUNCTIONS("build_child_join_rel", "generate_partitionwise_join_paths"),
	[PLH_PLANNED_AGGREGATES] =
	FUNCTIONS("create_agg_path", "create_group_path", "create_groupingsets_path"),
	[PLH_PLANNED_BY_GEQO] = FUNCTIONS("geqo")
};

static bool
is_one_of(const char *const *names, const char *function)
{
	while (*names != NULL && strcmp(function, *names) != 0)
		names++;
	return *names != NULL;
}

static PlhPhase
phase_of_function(const char *function)
{
	for (PlhPhase phase = PLH_PHASE_UNKNOWN + 1; phase < PLH_PHASES; phase++)
		if (is_one_of(phases[phase].functions, function))
			return phase;
	return PLH_PHASE_UNKNOWN;
}

static PlhPhase
phase_of_frame(const PlhFrameText *frame)
{
	return frame->function == NULL || frame->language != PLH_LANGUAGE_NONE ||
		!plh_site_family_is_of_server(frame) ?
		PLH_PHASE_UNKNOWN : phase_of_function(frame->function);
}

/* The phase of the first known function at or after a frame of a stack. */
static PlhPhase
phase_from(const PlhStackText *stack, int first, int *frame)
{
	for (int i = first; i < stack->frame_count; i++)
	{
		PlhPhase	phase = phase_of_frame(&stack->frames[i]);

		if (phase != PLH_PHASE_UNKNOWN)
		{
			*frame = i;
			return phase;
		}
	}
	*frame = stack->frame_count;
	return PLH_PHASE_UNKNOWN;
}

bool
plh_phase_plans(const PlhStackText *stack, PlhPlanned planned)
{
	for (int i = 0; i < stack->frame_count; i++)
		if (stack->frames[i].function != NULL && plh_site_family_is_of_server(&stack->frames[i]) &&
			is_one_of(planned_by[planned], stack->frames[i].function))
			return true;
	return false;
}

PlhPhase
plh_phase_of(const PlhStackText *stack, int *frame)
{
	return phase_from(stack, 0, frame);
}

PlhPhase
plh_phase_of_statement(const PlhStackText *stack, int *frame)
{
	PlhPhase	phase = phase_from(stack, 0, frame);
	PlhPhase	around;
	int			around_frame;

	if (phase != PLH_PHASE_CACHE_REBUILD)
		return phase;
	around = phase_from(stack, *frame, &around_frame);
	while (around == PLH_PHASE_CACHE_REBUILD)
		around = phase_from(stack, around_frame + 1, &around_frame);
	if (!plh_phase_is_unlimited(around))
		return phase;
	*frame = around_frame;
	return around;
}

bool
plh_phase_is_around(PlhPhase phase, const PlhStackText *stack)
{
	for (int i = 0; i < stack->frame_count; i++)
		if (phase_of_frame(&stack->frames[i]) == phase)
			return true;
	return false;
}

PlhPhase
plh_phase_parent(PlhPhase phase)
{
	return phases[phase].parent;
}

bool
plh_phase_is_unlimited(PlhPhase phase)
{
	return phases[phase].is_unlimited;
}

const char *
plh_phase_name(PlhPhase phase)
{
	return phases[phase].name;
}

PlhSentence
plh_phase_purpose(PlhPhase phase)
{
	return phases[phase].purpose;
}

PlhSentence
plh_phase_meaning(PlhPhase phase)
{
	return phases[phase].meaning;
}

PlhSentence
plh_phase_help(PlhPhase phase)
{
	return phases[phase].help;
}
