/*
 * statement_list.c
 *	  Copies of the entries of the file of statements, and their stacks.
 *
 * Other processes change the file meanwhile, and somebody may have damaged it: each length and
 * index is checked in the copy.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "profile/statement_entries.h"
#include "profile/statements_file.h"
#include "reader/database_text.h"
#include "reader/profile_builder.h"
#include "reader/statement_list.h"

/* Tries to copy an entry that others change. */
#define MAX_TRIES 1000

bool
plh_statement_list_copy(PlhStatementEntry *copy, uint32 index)
{
	const PlhStatementEntry *entry = &plh_statements_file->entries[index];

	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		uint32		before = *(const volatile uint32 *) &entry->sequence;

		pg_read_barrier();
		*copy = *entry;
		pg_read_barrier();
		if (before % 2 == 0 && *(const volatile uint32 *) &entry->sequence == before)
			break;
	}

	/* one that is odd for so long was left so by a process that died */
	copy->text_bytes = Min(copy->text_bytes, PLH_STATEMENT_MAX);
	copy->text[copy->text_bytes] = '\0';
	copy->context_name[PLH_STATEMENT_CONTEXT_MAX] = '\0';
	copy->depth = Min(copy->depth, PLH_STATEMENT_FRAMES);
	copy->shared.count = Min(copy->shared.count, PLH_STATEMENT_SHARED);
	for (uint32 i = 0; i < copy->shared.count; i++)
		copy->shared.percents[i] = Min(copy->shared.percents[i], 100);
	return copy->born != 0 && copy->calls > 0;
}

static void
add_modules(PlhProfileBuilder *builder)
{
	uint32		count = Min(plh_statements_file->module_count, PLH_STATEMENT_MODULES);

	for (uint32 i = 0; i < count; i++)
	{
		PlhStatementModule module = plh_statements_file->modules[i];
		Size		room = PLH_STATEMENT_MODULE_BYTES - offsetof(PlhModuleRecord, path);
		PlhModuleRecord *copy;
		uint32		offset;

		module.bytes[PLH_STATEMENT_MODULE_BYTES - 1] = '\0';
		module.record.path_bytes = strnlen(module.record.path, room - 1);
		module.record.build_id_bytes = Min(module.record.build_id_bytes, PLH_BUILD_ID_MAX);
		module.record.index = i + 1;
		offset = plh_profile_builder_add(builder, PLH_RECORD_MODULE, PLH_STATEMENT_MODULE_BYTES);
		copy = plh_profile_builder_record(builder, offset);
		module.record.record = copy->record;
		memcpy(copy, &module, sizeof(module));
	}
}

/* The frame of a routine, with its name in the image; without a name it has offset 0. */
static PlhFrame
add_routine(PlhProfileBuilder *builder, const PlhStatementEntry *entry, PlhFrame frame)
{
	Size		bytes;
	const char *name = plh_statement_entries_routine(entry, frame, &bytes);
	uint32		offset = name == NULL ? 0 :
		plh_profile_builder_add_string(builder,
									   plh_database_text_fit_foreign(name, bytes, entry->encoding));

	return PLH_ROUTINE_FRAME(PLH_ROUTINE_LANGUAGE(frame), PLH_ROUTINE_LINE(frame), offset);
}

/* Add frames of an entry as a stack.  Returns its offset; 0 if there are none. */
static uint32
add_stack(PlhProfileBuilder *builder, const PlhStatementEntry *entry, const PlhFrame *frames,
		  uint32 count, bool truncated)
{
	PlhFrame	added[PLH_STATEMENT_FRAMES];
	PlhStackRecord *stack;
	uint32		offset;

	if (count == 0)
		return 0;
	for (uint32 i = 0; i < count; i++)
		added[i] = PLH_FRAME_IS_ROUTINE(frames[i]) ? add_routine(builder, entry, frames[i]) :
			frames[i];
	offset = plh_profile_builder_add(builder, PLH_RECORD_STACK,
									 offsetof(PlhStackRecord, frames) + sizeof(PlhFrame) * count);
	stack = plh_profile_builder_record(builder, offset);
	stack->depth = count;
	stack->truncated = truncated;
	memcpy(stack->frames, added, sizeof(PlhFrame) * count);
	return offset;
}

static void
add_stacks(PlhProfileBuilder *builder, PlhListedStatement *listed)
{
	const PlhStatementEntry *entry = &listed->entry;

	StaticAssertStmt(PLH_STATEMENT_SHARED <= PLH_STATEMENT_FRAMES, "a chain fits a stack");
	listed->stack = add_stack(builder, entry, entry->frames, entry->depth, entry->truncated);
	listed->shared = add_stack(builder, entry, entry->shared.frames, entry->shared.count, false);
}

static List *
list_entries(PlhRoleFilter may_see)
{
	uint32		reserved = plh_statements_file == NULL ? 0 : plh_statements_file_reserved();
	List	   *statements = NIL;

	for (uint32 i = 0; i < reserved; i++)
	{
		PlhListedStatement *listed;

		CHECK_FOR_INTERRUPTS();
		if (plh_statements_file->entries[i].born == 0)
			continue;
		listed = palloc0(sizeof(PlhListedStatement));
		listed->index = i;
		if (plh_statement_list_copy(&listed->entry, i) && may_see(listed->entry.role_oid))
			statements = lappend(statements, listed);
		else
			pfree(listed);
	}
	return statements;
}

PlhStatementList *
plh_statement_list_read(PlhRoleFilter may_see)
{
	PlhStatementList *list = palloc0(sizeof(PlhStatementList));
	PlhProfileBuilder builder;
	ListCell   *cell;

	list->statements = list_entries(may_see);
	plh_profile_builder_begin(&builder);
	if (list->statements != NIL)
		add_modules(&builder);
	foreach(cell, list->statements)
		add_stacks(&builder, lfirst(cell));
	list->image = palloc0(sizeof(PlhProfileImage));
	plh_profile_builder_header(&builder)->encoding = GetDatabaseEncoding();
	plh_profile_builder_header(&builder)->used_bytes = builder.used_bytes;
	plh_profile_image_adopt(list->image, plh_profile_builder_header(&builder), builder.used_bytes);
	return list;
}

/* For qsort: the highest first. */
static int
compare_peaks(const void *left, const void *right)
{
	int64		first = ((const PlhStatementPeak *) left)->bytes;
	int64		second = ((const PlhStatementPeak *) right)->bytes;

	return (first < second) - (first > second);
}

PlhStatementPeaks *
plh_statement_list_peaks(void)
{
	uint32		reserved = plh_statements_file == NULL ? 0 : plh_statements_file_reserved();
	PlhStatementPeaks *peaks = palloc(offsetof(PlhStatementPeaks, peaks) +
									  sizeof(PlhStatementPeak) * reserved);

	peaks->count = 0;
	for (uint32 i = 0; i < reserved; i++)
	{
		const PlhStatementEntry *entry = &plh_statements_file->entries[i];
		PlhStatementPeak *peak = &peaks->peaks[peaks->count];

		if (entry->born == 0)
			continue;
		peak->bytes = entry->max_peak_bytes;
		peak->index = i;
		peak->pid = entry->max_pid;
		peaks->count++;
	}
	qsort(peaks->peaks, peaks->count, sizeof(PlhStatementPeak), compare_peaks);
	return peaks;
}

bool
plh_statement_list_figures(PlhStatementFigures *figures)
{
	uint32		reserved;

	memset(figures, 0, sizeof(*figures));
	if (plh_statements_file == NULL)
		return false;
	reserved = plh_statements_file_reserved();
	for (uint32 i = 0; i < reserved; i++)
		figures->count += plh_statements_file->entries[i].born != 0;
	figures->evicted = plh_statements_file->evicted;
	figures->lost = pg_atomic_read_u64(&plh_statements_file->lost);
	return true;
}

const PlhStatementEntry *
plh_statement_list_session_peak(const PlhStatementPeaks *peaks, int pid, TimestampTz started_at,
								TimestampTz since)
{
	PlhStatementEntry *entry = palloc(sizeof(PlhStatementEntry));

	for (int i = 0; i < peaks->count; i++)
	{
		if (peaks->peaks[i].pid == pid &&
			plh_statement_list_copy(entry, peaks->peaks[i].index) &&
			entry->max_pid == pid && entry->max_start >= started_at && entry->max_at >= since)
			return entry;
	}
	pfree(entry);
	return NULL;
}
