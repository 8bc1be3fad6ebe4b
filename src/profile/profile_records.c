/*
 * profile_records.c
 *	  The owner's side of a profile: room for records, and how they are found.
 *
 * Equal records are stored once: a private table of hash buckets heads chains that run through the
 * records themselves.  Room comes from records that were given up, and else from the end of the
 * profile.  Records that are given up wait for the end of the round of recycling before they are
 * used again, for the sake of readers: profile_layout.h tells which facts these rely on.
 *
 * Invariants: a free record is in one free list and in no chain.  All others are in one chain and
 * in no list.  What a reader may have taken for the beginning of a record stays one until the round
 * ends.
 */
#include "postgres.h"

#include "port/atomics.h"

#include "base/fork.h"
#include "base/hash_seed.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile_records.h"

/*
 * There is a bucket for each record; once that is one for this many bytes of the profile's maximum
 * size, which is less than most records take, there are enough.
 */
#define BYTES_PER_BUCKET 128

/*
 * Sizes of records are rounded up to multiples of this, so that a record finds one that was given
 * up.  What is larger than MAX_CLASS_BYTES is a module or a string, and these are never given up.
 */
#define CLASS_BYTES PLH_RECORD_STEP
#define CLASSES 66
#define MAX_CLASS_BYTES (CLASS_BYTES * CLASSES)

/*
 * Free records that lie side by side are joined up to this size.  Those that are larger than
 * records of any class are in one list, the last.
 */
#define MAX_JOINED_BYTES (16 * 1024)
#define LARGER CLASSES
#define LISTS (CLASSES + 1)

StaticAssertDecl(offsetof(PlhStackRecord, frames) +
				 sizeof(PlhFrame) * PLH_MAX_FRAMES <= MAX_CLASS_BYTES,
				 "the deepest stack has no size class");
StaticAssertDecl(offsetof(PlhStatementRecord, text) + PLH_STATEMENT_MAX + 1 <= MAX_CLASS_BYTES,
				 "the longest statement has no size class");

/* A list of free records, of one size but for the last.  Offsets; 0: empty. */
typedef struct FreeList
{
	uint32		first;
	uint32		last;
} FreeList;

/* plh_profile_records_forget gives their memory back. */
PLH_SURVIVES_FORK PlhHashBuckets plh_profile_records_buckets;

/* What roles without privileges have taken.  A process that forks others never takes any. */
static PLH_SAME_IN_CHILD Size room_taken;

/* Drawn anew for each profile. */
PLH_SURVIVES_FORK uint64 plh_profile_records_seed;

static PLH_LARGE struct
{
	uint32		records;		/* in the chains */
	FreeList	free_lists[LISTS];
	FreeList	given_up[LISTS];	/* in this round */
	Size		bytes_by_kind[PLH_RECORD_KINDS];
	Size		limit_bytes;	/* records take no more, if it is not 0 */
	uint32		next_step;		/* of a walk over all records; 0: the first */
}			state;

/* Make the table of buckets.  Returns false if there is no memory for it. */
bool
plh_profile_records_begin(void)
{
	plh_profile_records_seed = plh_hash_seed_draw();
	return plh_hash_buckets_begin(&plh_profile_records_buckets,
								  plh_load_settings.max_profile_size / BYTES_PER_BUCKET, 0);
}

/* Give up all records, as those of another profile are to come. */
void
plh_profile_records_forget(void)
{
	plh_hash_buckets_discard(&plh_profile_records_buckets);
	memset(&state, 0, sizeof(state));
}

/* Returns the size of a record that needs that many bytes. */
Size
plh_profile_records_size(Size bytes)
{
	return bytes <= MAX_CLASS_BYTES ? TYPEALIGN(CLASS_BYTES, bytes) : MAXALIGN(bytes);
}

/* Returns the list, of those of all sizes, that records of a size belong to. */
static FreeList *
list_of(FreeList *lists, Size bytes)
{
	Assert(bytes > 0 && bytes <= MAX_JOINED_BYTES && bytes % CLASS_BYTES == 0);
	return &lists[bytes > MAX_CLASS_BYTES ? LARGER : bytes / CLASS_BYTES - 1];
}

/* The free record before one in its list, or 0. */
#define PREVIOUS_OF(offset) \
	(((PlhRecord *) plh_profile_records_at(offset))->hash)

static void
push(FreeList *lists, uint32 offset)
{
	PlhRecord  *record = plh_profile_records_at(offset);
	FreeList   *list = list_of(lists, record->bytes);

	Assert(record->kind == PLH_RECORD_FREE);
	record->chain = list->first;
	record->hash = 0;
	if (list->first != 0)
		PREVIOUS_OF(list->first) = offset;
	else
		list->last = offset;
	list->first = offset;
}

/* Was a free record given up, or joined, in the round at work? */
static bool
is_waiting(const PlhRecord *record)
{
	return record->references == plh_profile->round + 1;
}

static void
unlist(uint32 offset)
{
	PlhRecord  *record = plh_profile_records_at(offset);
	FreeList   *list = list_of(is_waiting(record) ? state.given_up : state.free_lists,
							   record->bytes);
	uint32		previous = record->hash;
	uint32		next = record->chain;

	Assert(record->kind == PLH_RECORD_FREE);
	if (previous != 0)
		PLH_CHAIN_OF(previous) = next;
	else
		list->first = next;
	if (next != 0)
		PREVIOUS_OF(next) = previous;
	else
		list->last = previous;
}

/* Returns the first record of a list, which leaves it; 0 without one. */
static uint32
pop(const FreeList *list)
{
	uint32		offset = list->first;

	if (offset != 0)
		unlist(offset);
	return offset;
}

/* The first part of a larger free record, or 0.  A reader sees the whole or both parts. */
static uint32
split_larger(Size bytes)
{
	uint32		offset = 0;
	PlhRecord  *record;
	PlhRecord  *rest;

	for (int i = bytes / CLASS_BYTES; i < LISTS && offset == 0; i++)
		offset = pop(&state.free_lists[i]);
	if (offset == 0)
		return 0;
	record = plh_profile_records_at(offset);
	rest = plh_profile_records_at(offset + bytes);
	memset(rest, 0, sizeof(*rest));
	rest->kind = PLH_RECORD_FREE;
	rest->bytes = record->bytes - bytes;
	push(state.free_lists, offset + bytes);
	pg_write_barrier();
	record->bytes = bytes;
	return offset;
}

/* Returns the offset of room of that size at the end of the profile, or 0. */
static uint32
extend(Size bytes)
{
	Size		end = plh_profile->used_bytes + bytes;

	if (end > (Size) plh_load_settings.max_profile_size || !plh_profile_file_grow(end))
		return 0;
	plh_profile->profile_bytes = plh_profile_file_bytes();
	return plh_profile->used_bytes;
}

/*
 * Refuse records beyond that many bytes in use until a further call; 0 for no limit but the
 * profile's maximum.  Room that was given up counts when it is taken again: else samples that come
 * and go in between would make room without end.
 */
void
plh_profile_records_limit(Size bytes)
{
	state.limit_bytes = bytes;
}

static bool
exceeds_limit(Size size)
{
	return state.limit_bytes != 0 && plh_profile_records_bytes_in_use() + size > state.limit_bytes;
}

/*
 * Take zeroed room for a record of "bytes" bytes.  Returns NULL if there is none.  Readers do not
 * see the record before plh_profile_records_add, which must follow before the next call.
 */
void *
plh_profile_records_take(Size bytes)
{
	Size		size = plh_profile_records_size(bytes);
	uint32		offset = 0;
	PlhRecord  *record;

	Assert(plh_guard_held && CritSectionCount == 0);
	if (exceeds_limit(size))
		return NULL;
	if (size <= MAX_CLASS_BYTES)
		offset = pop(list_of(state.free_lists, size));
	if (offset == 0)
		offset = extend(size);
	if (offset == 0 && size <= MAX_CLASS_BYTES)
		offset = split_larger(size);
	if (offset == 0)
		return NULL;

	record = plh_profile_records_at(offset);
	if (offset == plh_profile->used_bytes)
		Assert(record->kind == 0 && record->bytes == 0);
	else
		memset(record + 1, 0, size - sizeof(PlhRecord));
	return record;
}

/* Give back room that was taken and is not used. */
void
plh_profile_records_return(void *taken)
{
	uint32		offset = plh_profile_records_offset(taken);

	if (offset != plh_profile->used_bytes)
		push(state.free_lists, offset);
}

/* What the buckets ask of a record. */
static uint32 *
link_of_record(const void *table, uint32 offset, uint32 *hash)
{
	PlhRecord  *record = plh_profile_records_at(offset);

	*hash = record->hash;
	return &record->chain;
}

static void
chain(PlhRecord *record)
{
	uint32	   *bucket;

	plh_hash_buckets_expect(&plh_profile_records_buckets, state.records++, link_of_record, NULL);
	bucket = plh_profile_records_bucket(record->hash);
	record->chain = *bucket;
	*bucket = plh_profile_records_offset(record);
}

static void
unchain(PlhRecord *record)
{
	uint32		offset = plh_profile_records_offset(record);
	uint32	   *link = plh_profile_records_bucket(record->hash);

	while (*link != offset)
	{
		Assert(*link != 0);
		link = &PLH_CHAIN_OF(*link);
	}
	*link = record->chain;
	state.records--;
}

/* Make a filled-in record part of the profile.  Returns its offset. */
uint32
plh_profile_records_add(void *filled, PlhRecordKind kind, Size bytes, uint32 hash)
{
	PlhRecord  *record = filled;
	uint32		offset = plh_profile_records_offset(record);
	Size		size = plh_profile_records_size(bytes);

	Assert(kind != PLH_RECORD_FREE);
	Assert(offset + size <= plh_profile_file_bytes());
	Assert(offset == plh_profile->used_bytes ||
		   (record->kind == PLH_RECORD_FREE && record->bytes == size));
	record->bytes = size;
	record->hash = hash;
	record->born = plh_profile->round;
	record->references = 0;
	chain(record);
	state.bytes_by_kind[kind] += size;

	/* readers trust kind and used_bytes: the record must be complete before */
	pg_write_barrier();
	record->kind = kind;
	if (offset == plh_profile->used_bytes)
	{
		pg_write_barrier();
		plh_profile->used_bytes = offset + size;
	}
	return offset;
}

/* Enter a record, whose key has changed, under another hash. */
void
plh_profile_records_rehash(uint32 offset, uint32 hash)
{
	PlhRecord  *record = plh_profile_records_at(offset);

	unchain(record);
	record->hash = hash;
	chain(record);
}

/* Give up a record without references.  Its bytes stay until its room is used again. */
void
plh_profile_records_give_up(uint32 offset)
{
	PlhRecord  *record = plh_profile_records_at(offset);

	Assert(record->kind != PLH_RECORD_FREE);
	Assert(record->references == 0);
	unchain(record);
	Assert(state.bytes_by_kind[record->kind] >= record->bytes);
	state.bytes_by_kind[record->kind] -= record->bytes;
	record->kind = PLH_RECORD_FREE;
	record->references = plh_profile->round + 1;
	push(state.given_up, offset);
}

/*
 * Join a free record with the one behind it, so that larger ones find room there.  Returns false if
 * that one is not free, or they would be too large.
 */
bool
plh_profile_records_join(uint32 offset)
{
	PlhRecord  *record = plh_profile_records_at(offset);
	uint32		end = offset + record->bytes;
	const PlhRecord *next;

	Assert(record->kind == PLH_RECORD_FREE);
	if (end >= plh_profile->used_bytes)
		return false;
	next = plh_profile_records_at(end);
	if (next->kind != PLH_RECORD_FREE || record->bytes + next->bytes > MAX_JOINED_BYTES)
		return false;
	unlist(offset);
	unlist(end);
	if (state.next_step == end)
		state.next_step = end + next->bytes;
	record->bytes += next->bytes;
	record->references = plh_profile->round + 1;
	push(state.given_up, offset);
	return true;
}

/*
 * Returns the next record of a walk over all of them, which goes on from call to call while records
 * come and go.  NULL at the end; then the next one begins.
 */
const PlhRecord *
plh_profile_records_step(void)
{
	const PlhRecord *record;

	if (state.next_step == 0)
		state.next_step = MAXALIGN(sizeof(PlhProfileHeader));
	if (state.next_step >= plh_profile->used_bytes)
	{
		state.next_step = 0;
		return NULL;
	}
	record = plh_profile_records_at(state.next_step);
	state.next_step += record->bytes;
	return record;
}

/* End a round of recycling: what was given up in it can be used from now on. */
void
plh_profile_records_end_round(void)
{
	plh_profile->round++;

	/* readers must see that a round has ended before they see new records */
	pg_write_barrier();
	for (int i = 0; i < LISTS; i++)
	{
		if (state.given_up[i].first == 0)
			continue;
		PLH_CHAIN_OF(state.given_up[i].last) = state.free_lists[i].first;
		if (state.free_lists[i].first != 0)
			PREVIOUS_OF(state.free_lists[i].first) = state.given_up[i].last;
		else
			state.free_lists[i].last = state.given_up[i].last;
		state.free_lists[i].first = state.given_up[i].first;
	}
	memset(state.given_up, 0, sizeof(state.given_up));
}

Size
plh_profile_records_bytes(PlhRecordKind kind)
{
	return state.bytes_by_kind[kind];
}

Size
plh_profile_records_bytes_in_use(void)
{
	Size		sum = 0;

	for (int kind = 0; kind < PLH_RECORD_KINDS; kind++)
		sum += state.bytes_by_kind[kind];
	return sum;
}

/* Limit what is taken of the profile from now on.  Returns what its records take at present. */
Size
plh_profile_records_begin_bounded(bool bounded)
{
	Size		bytes = plh_profile_records_bytes_in_use();

	if (bounded)
		plh_profile_records_limit(bytes + PLH_BOUNDED_ROOM - room_taken);
	return bytes;
}

/*
 * Lift the limit again, and count by how much the records are more than before.  When recycling was
 * suspended, those that nobody needed any more were given up, which makes room, but never more than
 * PLH_BOUNDED_ROOM.
 */
void
plh_profile_records_end_bounded(bool bounded, Size bytes_before)
{
	Size		bytes = room_taken + plh_profile_records_bytes_in_use();

	plh_profile_records_limit(0);
	if (bounded)
		room_taken = bytes > bytes_before ? bytes - bytes_before : 0;
}
