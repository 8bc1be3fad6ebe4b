/*
 * statement_entries.c
 *	  What is told of statements, and kept in their file.
 *
 * A process tells of a call several times: when it has grown, and when it is over.  A part that was
 * told before is counted once.  Between two processes of a call, which are a session and its
 * parallel workers, the place of the session adds up.
 *
 * A process may die at any point of a change.  So nobody follows a chain for longer than there are
 * entries.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/guard.h"
#include "base/sampling.h"
#include "profile/statement_entries.h"
#include "profile/statement_shape.h"
#include "profile/statements_file.h"

/* Where the modules and routines of a stack are found: in a profile, or in another file. */
typedef struct StackSource
{
	const PlhProfileImage *image;	/* NULL: in the latter */
	const PlhStatementEntry *former;
	const PlhStatementModule *modules;
	uint32		module_count;

	/* the module that was looked up last, and its number in the file */
	uint32		last_index;
	uint32		last_number;
} StackSource;

/* What tells a statement from others. */
typedef struct Key
{
	const PlhStatementPart *part;
	uint32		hash;
	PlhStatementShape shape;	/* empty if there is a query id */
} Key;

/* The number of a module in the file, which gets it if it has room; else 0. */
static uint32
module_number(const PlhModuleRecord *module)
{
	PlhStatementsFile *file = plh_statements_file;
	Size		bytes = offsetof(PlhModuleRecord, path) + module->path_bytes + 1;
	uint32		count = Min(file->module_count, PLH_STATEMENT_MODULES);
	PlhStatementModule *place;

	for (uint32 i = 0; i < count; i++)
		if (plh_profile_image_is_same_module(&file->modules[i].record, module))
			return i + 1;
	if (count == PLH_STATEMENT_MODULES || bytes > PLH_STATEMENT_MODULE_BYTES)
		return 0;
	place = &file->modules[count];
	memset(place, 0, sizeof(*place));
	memcpy(place, module, bytes);
	place->record.index = count + 1;
	pg_write_barrier();
	file->module_count = count + 1;
	return count + 1;
}

/* Is that the record of a module, which lies in its place as a whole? */
static bool
is_module(const PlhModuleRecord *module)
{
	Size		room = PLH_STATEMENT_MODULE_BYTES - offsetof(PlhModuleRecord, path);

	return module->build_id_bytes <= PLH_BUILD_ID_MAX && module->path_bytes < room &&
		module->path[module->path_bytes] == '\0';
}

static const PlhModuleRecord *
source_module(const StackSource *source, uint32 index)
{
	const PlhModuleRecord *module;

	if (source->image != NULL)
		return plh_profile_image_module(source->image, index);
	if (index == 0 || index > Min(source->module_count, PLH_STATEMENT_MODULES))
		return NULL;
	module = &source->modules[index - 1].record;
	return is_module(module) ? module : NULL;
}

/* The name of a frame's routine, as long as it is; NULL if there is none. */
static const char *
source_routine(const StackSource *source, PlhFrame frame, Size *bytes)
{
	uint32		place = PLH_ROUTINE_STRING(frame);

	if (source->image != NULL)
	{
		const PlhStringRecord *name = plh_profile_image_string(source->image, place);

		*bytes = name == NULL ? 0 : name->text_bytes;
		return name == NULL ? NULL : name->text;
	}
	return plh_statement_entries_routine(source->former, frame, bytes);
}

const char *
plh_statement_entries_routine(const PlhStatementEntry *entry, PlhFrame frame, Size *bytes)
{
	uint32		place = PLH_ROUTINE_STRING(frame);
	Size		room;

	if (place >= PLH_STATEMENT_ROUTINE_BYTES)
		return NULL;
	room = PLH_STATEMENT_ROUTINE_BYTES - place;
	*bytes = strnlen(entry->routines + place, room);
	return *bytes > 0 && *bytes < room ? entry->routines + place : NULL;
}

/* The place of a routine's name in an entry; PLH_STATEMENT_ROUTINE_BYTES if it has no room. */
static uint32
routine_place(PlhStatementEntry *entry, const char *name, Size bytes)
{
	uint32		place = 0;

	while (place < entry->routine_bytes)
	{
		Size		length = strlen(entry->routines + place);

		if (length == bytes && memcmp(entry->routines + place, name, bytes) == 0)
			return place;
		place += MAXALIGN(length + 1);
	}
	if (bytes >= PLH_STATEMENT_ROUTINE_BYTES - place)
		return PLH_STATEMENT_ROUTINE_BYTES;
	memcpy(entry->routines + place, name, bytes);
	entry->routines[place + bytes] = '\0';
	entry->routine_bytes = place + MAXALIGN(bytes + 1);
	return place;
}

/* The frame of a routine as the entry has it; 0 if its name is not there, or finds no room. */
static PlhFrame
routine_frame(PlhStatementEntry *entry, const StackSource *source, PlhFrame frame)
{
	Size		bytes;
	const char *name = source_routine(source, frame, &bytes);
	uint32		place = name == NULL ? PLH_STATEMENT_ROUTINE_BYTES :
		routine_place(entry, name, bytes);

	return place == PLH_STATEMENT_ROUTINE_BYTES ? 0 :
		PLH_ROUTINE_FRAME(PLH_ROUTINE_LANGUAGE(frame), PLH_ROUTINE_LINE(frame), place);
}

/* A frame as the entry has it; 0 if its module or name is not there, or finds no room. */
static PlhFrame
noted_frame(PlhStatementEntry *entry, StackSource *source, PlhFrame frame)
{
	uint32		index = PLH_FRAME_MODULE(frame);

	if (PLH_FRAME_IS_ROUTINE(frame))
		return routine_frame(entry, source, frame);
	if (index != source->last_index)
	{
		const PlhModuleRecord *module = source_module(source, index);

		source->last_index = index;
		source->last_number = module == NULL ? 0 : module_number(module);
	}
	return source->last_number == 0 && index != 0 ? 0 :
		PLH_FRAME(source->last_number, PLH_FRAME_ADDRESS(frame));
}

/* Note a stack: none, if a module is not in the source or finds no room. */
static void
note_stack(PlhStatementEntry *entry, StackSource *source,
		   const PlhFrame *frames, uint32 depth, bool truncated)
{
	entry->truncated = truncated || depth > PLH_STATEMENT_FRAMES;
	for (uint32 i = 0; i < Min(depth, PLH_STATEMENT_FRAMES); i++)
	{
		PlhFrame	frame = noted_frame(entry, source, frames[i]);

		if (frame != 0)
			entry->frames[entry->depth++] = frame;
		else if (!PLH_FRAME_IS_ROUTINE(frames[i]))
		{
			entry->depth = 0;
			return;
		}
	}
}

/* Note those frames of a chain that can be. */
static void
note_shared(PlhStatementEntry *entry, StackSource *source, const PlhSharedChain *shared)
{
	PlhSharedChain *noted = &entry->shared;

	for (uint32 i = 0; i < Min(shared->count, PLH_STATEMENT_SHARED); i++)
	{
		PlhFrame	frame = noted_frame(entry, source, shared->frames[i]);

		if (frame == 0 || shared->percents[i] > 100)
			continue;
		noted->percents[noted->count] = shared->percents[i];
		noted->frames[noted->count++] = frame;
	}
}

static void
make_key(Key *key, const PlhStatementPart *part)
{
	uint64		seed;

	Assert(plh_statements_file != NULL);
	seed = plh_statements_file->seed ^
		((uint64) part->database_oid << 32) ^ part->role_oid;
	key->part = part;
	key->shape.length = 0;
	if (part->query_id == 0)
		plh_statement_shape_of(&key->shape, part->text, part->text_bytes);
	key->hash = (uint32) (part->query_id != 0 ?
						  hash_bytes_extended((const unsigned char *) &part->query_id,
											  sizeof(part->query_id), seed) :
						  hash_bytes_extended((const unsigned char *) key->shape.text,
											  key->shape.length, seed));
}

/* The entry with that number; NULL if there is none. */
static PlhStatementEntry *
entry_of(uint32 number)
{
	return number == 0 || number > plh_statements_file_reserved() ? NULL :
		&plh_statements_file->entries[number - 1];
}

static uint32
number_of(const PlhStatementEntry *entry)
{
	return entry - plh_statements_file->entries + 1;
}

static uint32 *
bucket_of(uint32 hash)
{
	return &plh_statements_file->buckets[hash % PLH_STATEMENT_BUCKETS];
}

static bool
is_of(const PlhStatementEntry *entry, const Key *key)
{
	const PlhStatementPart *part = key->part;

	return entry->born != 0 && entry->hash == key->hash &&
		entry->query_id == part->query_id &&
		entry->database_oid == part->database_oid &&
		entry->role_oid == part->role_oid &&
		entry->text_bytes <= PLH_STATEMENT_MAX &&
		(part->query_id != 0 ||
		 plh_statement_shape_equals(&key->shape, entry->text, entry->text_bytes));
}

/* The entry of a statement, or NULL. */
static PlhStatementEntry *
find(const Key *key)
{
	uint32		steps = plh_statements_file_reserved();
	PlhStatementEntry *entry = entry_of(*bucket_of(key->hash));

	while (entry != NULL && steps-- > 0 && !is_of(entry, key))
		entry = entry_of(entry->next);
	return entry != NULL && is_of(entry, key) ? entry : NULL;
}

/* Begin and end a change of an entry, for those that read it. */
static void
begin_change(PlhStatementEntry *entry)
{
	/* whoever died in the middle of a change has left an odd number */
	entry->sequence |= 1;
	pg_write_barrier();
}

static void
end_change(PlhStatementEntry *entry)
{
	pg_write_barrier();
	entry->sequence++;
}

/* Take an entry out of its chain, and free it. */
static void
remove_entry(PlhStatementEntry *entry)
{
	uint32		number = number_of(entry);
	uint32	   *link = bucket_of(entry->hash);
	uint32		steps = plh_statements_file_reserved();

	while (*link != number && steps-- > 0 && entry_of(*link) != NULL)
		link = &entry_of(*link)->next;
	if (*link == number)
		*link = entry->next;
	begin_change(entry);
	entry->born = 0;
	end_change(entry);
}

/* Returns an entry that is free, or becomes so: the one that was used least. */
static PlhStatementEntry *
give_up_one(void)
{
	PlhStatementsFile *file = plh_statements_file;
	uint32		count = plh_statements_file_reserved();

	if (count == 0)
		return NULL;
	for (uint64 steps = (uint64) count * (PLH_STATEMENT_MOST_USAGE + 2); steps > 0; steps--)
	{
		PlhStatementEntry *entry = &file->entries[file->hand % count];

		file->hand = (file->hand + 1) % count;
		if (entry->born == 0)
			return entry;
		if (entry->usage == 0)
		{
			remove_entry(entry);
			file->evicted++;
			return entry;
		}
		entry->usage = Min(entry->usage, PLH_STATEMENT_MOST_USAGE) - 1;
	}
	return NULL;
}

static PlhStatementEntry *
take_entry(void)
{
	PlhStatementsFile *file = plh_statements_file;
	uint32		used = Min(file->used_entries, plh_statements_file_reserved());

	if (used == plh_statements_file_reserved() && !plh_statements_file_grow())
		return give_up_one();
	file->used_entries = used + 1;
	return &file->entries[used];
}

/* Add the entry of a statement.  Returns NULL if there is room for none. */
static PlhStatementEntry *
insert(const Key *key)
{
	const PlhStatementPart *part = key->part;
	PlhStatementEntry *entry = take_entry();
	Size		text_bytes = Min(part->text_bytes, PLH_STATEMENT_MAX);

	if (entry == NULL)
		return NULL;
	begin_change(entry);
	memset(&entry->next, 0, sizeof(*entry) - offsetof(PlhStatementEntry, next));
	entry->hash = key->hash;
	entry->query_id = part->query_id;
	entry->database_oid = part->database_oid;
	entry->role_oid = part->role_oid;
	entry->encoding = part->encoding;
	entry->text_bytes = text_bytes;
	memcpy(entry->text, part->text, text_bytes);
	entry->born = ++plh_statements_file->born;
	end_change(entry);
	entry->next = *bucket_of(key->hash);
	pg_write_barrier();
	*bucket_of(key->hash) = number_of(entry);
	return entry;
}

static PlhStatementCall *
call_of(const PlhStatementPart *part)
{
	return &plh_statements_file->calls[part->session % PLH_STATEMENT_CALLS];
}

/* Is it the same call?  Statements of one message start together; a worker may have no query id. */
static bool
is_call(const PlhStatementCall *call, const PlhStatementPart *part)
{
	return call->pid == part->pid && call->start == part->start &&
		(call->query_id == part->query_id || call->query_id == 0 || part->query_id == 0);
}

/* What the call has at its peak, with all of that part. */
static int64
peak_with(const PlhStatementCall *call, const PlhStatementPart *part)
{
	return is_call(call, part) ?
		call->peak_bytes + part->share.peak_bytes - part->told.peak_bytes : part->share.peak_bytes;
}

/* Let the place be of the call that the part is of. */
static void
begin_call(PlhStatementCall *call, PlhStatementPart *part)
{
	if (!is_call(call, part))
	{
		memset(call, 0, sizeof(*call));
		call->start = part->start;
		call->pid = part->pid;
		part->told.peak_bytes = part->told.samples = part->told.private_bytes = 0;
		part->told.variance = 0;
	}
	if (call->query_id == 0)
		call->query_id = part->query_id;
}

static void
add_part(PlhStatementCall *call, const PlhStatementPart *part)
{
	call->peak_bytes += part->share.peak_bytes - part->told.peak_bytes;
	call->variance = Max(call->variance + part->share.variance - part->told.variance, 0.0);
	call->samples += part->share.samples - part->told.samples;
	call->private_bytes += part->share.private_bytes - part->told.private_bytes;
}

/* The entry of a call: that of its statement, unless another of its processes has found one. */
static PlhStatementEntry *
entry_of_call(PlhStatementCall *call, const PlhStatementPart *part)
{
	PlhStatementEntry *entry = entry_of(call->entry);
	Key			key;

	if (entry != NULL && call->born != 0 && entry->born == call->born)
		return entry;
	make_key(&key, part);
	entry = find(&key);
	if (entry == NULL)
		entry = insert(&key);
	if (entry == NULL)
		return NULL;
	call->entry = number_of(entry);
	call->born = entry->born;
	call->is_counted = false;
	call->counted_bytes = 0;
	call->is_beyond = false;
	return entry;
}

static void
note_top(PlhStatementEntry *entry, const PlhStatementPart *part)
{
	const PlhStringRecord *context =
		plh_profile_image_string(part->image, part->top->key.context_name);
	const PlhStackRecord *stack = plh_profile_image_stack(part->image, part->top->key.stack);
	StackSource source = {.image = part->image};

	entry->site_bytes = part->top_bytes;
	entry->site_pid = part->process_pid;
	entry->depth = 0;
	entry->routine_bytes = 0;
	entry->shared.count = 0;
	entry->context_name[0] = '\0';
	if (context != NULL)
		strlcpy(entry->context_name, context->text, sizeof(entry->context_name));
	if (stack != NULL)
		note_stack(entry, &source, stack->frames, stack->depth, stack->truncated);
	note_shared(entry, &source, &part->shared);
}

static int64
error_of(const PlhStatementCall *call)
{
	return (int64) plh_sampling_error_bytes(call->variance, call->peak_bytes, call->samples);
}

/* Is it the call with the highest peak? */
static bool
is_highest(const PlhStatementEntry *entry, const PlhStatementPart *part)
{
	return entry->max_start == part->start && entry->max_pid == part->pid;
}

static void
note_highest(PlhStatementEntry *entry, const PlhStatementCall *call, const PlhStatementPart *part)
{
	/*
	 * of a worker and its session, the one where a site held more, as it was
	 * last told
	 */
	if (!is_highest(entry, part) || entry->site_pid == part->process_pid)
		entry->site_bytes = 0;
	entry->max_peak_bytes = call->peak_bytes;
	entry->max_private_bytes = call->private_bytes;

	/* where all samples were of large chunks, there may be small ones */
	entry->error_bytes = Max(error_of(call),
							 (int64) plh_sampling_missed_bytes(part->sample_interval));
	entry->allowed_bytes = part->allowed_bytes;
	entry->max_at = part->peak_at;
	entry->max_start = part->start;
	entry->max_pid = part->pid;
	if (part->top != NULL && part->top_bytes > entry->site_bytes)
		note_top(entry, part);
}

static void
count(PlhStatementEntry *entry, PlhStatementCall *call, const PlhStatementPart *part)
{
	begin_change(entry);
	if (!call->is_counted)
	{
		call->is_counted = true;
		entry->calls++;
		entry->usage = Min(entry->usage, PLH_STATEMENT_MOST_USAGE - 1) + 1;
	}
	entry->peak_sum += call->peak_bytes - call->counted_bytes;
	plh_peak_histogram_count(&entry->peaks, call->counted_bytes, call->peak_bytes);
	call->counted_bytes = call->peak_bytes;
	if (!call->is_beyond && (call->peak_bytes - error_of(call)) / 2 > part->allowed_bytes)
	{
		call->is_beyond = true;
		entry->calls_beyond++;
	}
	if (call->peak_bytes > entry->max_peak_bytes)
		note_highest(entry, call, part);
	else if (is_highest(entry, part))
		entry->max_private_bytes = Max(entry->max_private_bytes, call->private_bytes);
	end_change(entry);
}

const PlhStatementEntry *
plh_statement_entries_find(const PlhStatementPart *part)
{
	Key			key;

	make_key(&key, part);
	return find(&key);
}

bool
plh_statement_entries_is_highest(const PlhStatementPart *part)
{
	const PlhStatementEntry *entry;
	Key			key;

	make_key(&key, part);
	entry = find(&key);
	return entry == NULL || peak_with(call_of(part), part) > entry->max_peak_bytes;
}

bool
plh_statement_entries_tell(PlhStatementPart *part)
{
	PlhStatementCall *call = call_of(part);
	PlhStatementEntry *entry = NULL;

	Assert(plh_guard_held);
	if (plh_statements_file_lock())
	{
		begin_call(call, part);
		entry = entry_of_call(call, part);
		if (entry != NULL)
		{
			add_part(call, part);
			count(entry, call, part);
			part->told = part->share;
		}
		plh_statements_file_unlock();
	}
	return entry != NULL;
}

void
plh_statement_entries_count_lost(void)
{
	pg_atomic_fetch_add_u64(&plh_statements_file->lost, 1);
}

bool
plh_statement_entries_reset(Oid role, Oid database, uint64 query_id)
{
	uint32		reserved;

	Assert(plh_guard_held);
	if (!plh_statements_file_lock())
		return false;
	reserved = plh_statements_file_reserved();
	for (uint32 i = 0; i < reserved; i++)
	{
		PlhStatementEntry *entry = &plh_statements_file->entries[i];

		if (entry->born != 0 &&
			(!OidIsValid(role) || entry->role_oid == role) &&
			(!OidIsValid(database) || entry->database_oid == database) &&
			(query_id == 0 || entry->query_id == query_id))
			remove_entry(entry);
	}
	if (!OidIsValid(role) && !OidIsValid(database) && query_id == 0)
	{
		plh_statements_file->evicted = 0;
		pg_atomic_write_u64(&plh_statements_file->lost, 0);
	}
	plh_statements_file_unlock();
	return true;
}

void
plh_statement_entries_restore(const PlhStatementEntry *former,
							  const PlhStatementModule *modules, uint32 module_count)
{
	PlhStatementPart part = {
		.query_id = former->query_id,
		.text = former->text,
		.text_bytes = former->text_bytes,
		.encoding = former->encoding,
		.database_oid = former->database_oid,
		.role_oid = former->role_oid
	};
	StackSource source = {.former = former,.modules = modules,.module_count = module_count};
	PlhStatementEntry *entry;
	Key			key;

	if (former->born == 0 || former->calls <= 0 || former->text_bytes > PLH_STATEMENT_MAX)
		return;
	make_key(&key, &part);
	if (find(&key) != NULL || (entry = insert(&key)) == NULL)
		return;
	begin_change(entry);
	entry->usage = Min(former->usage, PLH_STATEMENT_MOST_USAGE);
	/* its calls, and the one with the highest peak, but for who made that */
	StaticAssertStmt(offsetof(PlhStatementEntry, max_start) -
					 offsetof(PlhStatementEntry, calls) ==
					 8 * sizeof(int64) + sizeof(PlhPeakHistogram),
					 "a field between them would be taken from the file, too");
	memcpy(&entry->calls, &former->calls,
		   offsetof(PlhStatementEntry, max_start) - offsetof(PlhStatementEntry, calls));
	entry->site_bytes = former->site_bytes;
	memcpy(entry->context_name, former->context_name, PLH_STATEMENT_CONTEXT_MAX);
	if (former->depth <= PLH_STATEMENT_FRAMES)
		note_stack(entry, &source, former->frames, former->depth, former->truncated);
	note_shared(entry, &source, &former->shared);
	end_change(entry);
}
