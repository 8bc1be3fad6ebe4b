/*
 * profile_layout.h
 *	  The layout of a profile: a file that one process writes, and all others read.
 *
 * A profile is a header, followed by records, one directly behind the other, up to
 * header.used_bytes.  A record is complete before used_bytes covers it and its kind says what it
 * is, and never moves; later only the counters of sites, their spans and memory contexts change,
 * courses get further points, contexts get other examples, and a site may get spans, or lose its
 * statement and its stack.  Records refer to others by their offset from the start of the profile;
 * 0 stands for none.  All offsets are multiples of 8.
 *
 * Records that are no longer needed are given up: their kind becomes PLH_RECORD_FREE.  Their room
 * is not used again before header.round has been raised, so that in a copy that was made within one
 * round each record that is referred to is the one that was meant, or free.
 *
 * A change of counters is numbered: first the number goes into last_change of the header and the
 * site, then the counters change, then the number goes into what lies before the counters.  Whoever
 * copies from the start to the end, and finds another number before the counters than behind them,
 * has met the owner at work (reader/profile_reader.c).
 *
 * The figures of a census stand in the header and in records of contexts.  census_changes is odd
 * while the owner writes them, and another number behind that: so whoever finds the same even
 * number before and after a copy has those of one census.
 *
 * Whoever changes the layout, if only by a field at an end, changes PLH_LAYOUT_VERSION: readers
 * refuse all other layouts.
 */
#pragma once

#include "datatype/timestamp.h"

#include "base/limits.h"
#include "base/routine_language.h"

#define PLH_PROFILE_MAGIC "PLHPROF"
#define PLH_LAYOUT_VERSION 1

/* A profile keeps labels, context names and statements up to these bytes. */
#define PLH_LABEL_MAX 96
#define PLH_NAME_MAX 64			/* of databases, roles and applications */
#define PLH_CONTEXT_NAME_MAX 255
#define PLH_STATEMENT_MAX 1024
#define PLH_PORTAL_TEXT_MAX 511

/* What malloc allocates for others than memory contexts is of this context. */
#define PLH_MALLOC_NAME "[malloc]"

/*
 * What stands for the stack of a site that has none: none was found, it was given up, or there was
 * no room for it; and for the name of a context.
 */
#define PLH_NO_STACK_NAME "[no stack]"
#define PLH_FORMER_STACKS_NAME "[former stacks]"
#define PLH_NO_ROOM_NAME "[no room]"
#define PLH_NO_CONTEXT_NAME "[no context]"

/* Stored in profiles: append only. */
typedef enum PlhLifetime
{
	PLH_LIFETIME_SESSION,		/* until the process ends or somebody frees;
								 * plans and the like, even incomplete */
	PLH_LIFETIME_TRANSACTION,	/* below TopTransactionContext */
	PLH_LIFETIME_STATEMENT,		/* below MessageContext, RowDescriptionContext */
	PLH_LIFETIME_QUERY,			/* below a portal's context */
	PLH_LIFETIME_ERROR,			/* below ErrorContext */
	PLH_LIFETIME_PROCESS,		/* of malloc: until somebody frees */
#define PLH_LIFETIMES (PLH_LIFETIME_PROCESS + 1)
} PlhLifetime;

/* Does it end by itself no sooner than the process? */
static inline bool
plh_lifetime_is_lasting(uint32 lifetime)
{
	return lifetime == PLH_LIFETIME_SESSION || lifetime == PLH_LIFETIME_PROCESS;
}

/* Why a sample could not be kept as it should be. */
typedef enum PlhLoss
{
	PLH_LOSS_LIVE_TABLE,		/* max_live_samples or memory exhausted: not
								 * counted as live */
	PLH_LOSS_PROFILE,			/* max_profile_size or file system exhausted:
								 * counted at the catch-all site */
	PLH_LOSS_CRITICAL,			/* taken in a critical section: not counted */
#define PLH_LOSSES (PLH_LOSS_CRITICAL + 1)
} PlhLoss;

/* Estimated sums of a site or a whole process. */
typedef struct PlhCounters
{
	int64		live_bytes;		/* allocated and neither freed nor reset */
	int64		live_count;
	int64		total_bytes;	/* allocated ever */
	int64		total_count;
	int64		live_samples;	/* raw samples behind live_* */
	int64		total_samples;	/* raw samples behind total_* */
	double		live_variance;	/* of live_bytes, in bytes squared */
	TimestampTz first_at;		/* of the first and the last sample */
	TimestampTz last_at;
} PlhCounters;

/* The figures of a process at one time. */
typedef struct PlhHistoryPoint
{
	TimestampTz at;
	int64		live_bytes;
	int64		context_bytes;
	int64		malloc_bytes;	/* in use; -1: not known */
	int64		malloc_free_bytes;
	int64		own_bytes;		/* RssAnon of the process */
} PlhHistoryPoint;

/*
 * A process' history has at most this many points.  When all are used, every other one is dropped,
 * and later ones are taken half as often.
 */
#define PLH_HISTORY_POINTS 240

/* Settings that have the planner consider more or less, and are on: bits. */
typedef enum PlhPlannerSetting
{
	PLH_PLANS_PARTITIONWISE_AGGREGATES = 1 << 0,
	PLH_PLANS_BY_GEQO = 1 << 1
} PlhPlannerSetting;

/* How a process ended that did not exit cleanly.  Stored: append only. */
typedef enum PlhDeathKind
{
	PLH_DEATH_UNKNOWN,			/* it lives, or nobody knows */
	PLH_DEATH_SIGNAL,			/* it was terminated by that signal */
	PLH_DEATH_EXIT_CODE,		/* it exited with that code */
	PLH_DEATH_WITH_PROCESS,		/* the server ended it, as the process with
								 * that pid had died */
} PlhDeathKind;

/* The death of a process; the postmaster fills it in, as the owner can't. */
typedef struct PlhDeath
{
	TimestampTz at;				/* not later than this; 0: not known */
	uint32		kind;			/* PlhDeathKind, and PLH_DEATH_REPORTED */
	int32		number;			/* signal, exit code or pid */
} PlhDeath;

/* A bit of PlhDeath.kind: the log has it. */
#define PLH_DEATH_REPORTED 0x10000

static inline PlhDeathKind
plh_death_kind(const PlhDeath *death)
{
	return (PlhDeathKind) (death->kind & ~PLH_DEATH_REPORTED);
}

/* Did the process die of something, and not only with another one? */
static inline bool
plh_death_has_cause(const PlhDeath *death)
{
	PlhDeathKind kind = plh_death_kind(death);

	return kind == PLH_DEATH_SIGNAL || kind == PLH_DEATH_EXIT_CODE;
}

/* Stored in profiles: append only. */
typedef enum PlhRecordKind
{
	PLH_RECORD_MODULE = 1,
	PLH_RECORD_STRING,
	PLH_RECORD_STATEMENT,
	PLH_RECORD_STACK,
	PLH_RECORD_SITE,
	PLH_RECORD_CONTEXT,
	PLH_RECORD_FREE,			/* given up; its room may be used again */
	PLH_RECORD_COURSE,
	PLH_RECORD_SPANS,
	PLH_RECORD_EXAMPLE
#define PLH_RECORD_KINDS (PLH_RECORD_EXAMPLE + 1)
} PlhRecordKind;

/* An open portal of a process, such as a cursor, as of its last census. */
typedef struct PlhPortal
{
	int64		bytes;			/* of its memory contexts */
	int64		allowed_bytes;	/* by settings, to all nodes of its plan; 0:
								 * its plan is not known */
	TimestampTz opened_at;
	uint32		plan_nodes;		/* those that a setting limits */
	uint32		plan_workers;	/* parallel ones that it may start */
	uint32		flags;			/* PLH_PORTAL_* */
	uint32		text_bytes;		/* of its statement, without literals; 0: not
								 * kept */
	char		name[PLH_NAME_MAX]; /* empty: that of no cursor, but of the
									 * client's statement */
	char		text[PLH_PORTAL_TEXT_MAX + 1];
} PlhPortal;

/* What a portal is. */
#define PLH_PORTAL_RUNS 0x1		/* a statement that runs; else it is open */
#define PLH_PORTAL_HOLDS 0x2	/* a cursor WITH HOLD */

/* Of so many portals, those that have most, a census notes what they are. */
#define PLH_PORTALS 3

typedef struct PlhProfileHeader
{
	char		magic[8];
	uint32		layout_version;
	uint32		pg_version;		/* PG_VERSION_NUM */

	/* who */
	int32		pid;
	uint32		backend_type;	/* BackendType of that version */
	uint64		process_start;	/* field 22 of /proc/PID/stat, in ticks */
	TimestampTz started_at;
	Oid			database_oid;	/* InvalidOid if there is none */
	Oid			role_oid;
	uint64		system_identifier;	/* of the database cluster */
	char		label[PLH_LABEL_MAX];	/* if backend_type is not enough */
	int32		encoding;		/* of statements and names */
	char		application_name[PLH_NAME_MAX]; /* each may be empty, and cut */
	char		database[PLH_NAME_MAX]; /* as the client gave it; also empty */
	char		role[PLH_NAME_MAX]; /* for processes without a client */
	PlhDeath	death;			/* the postmaster's */

	/* how */
	uint32		sample_interval;	/* bytes; 0 while not sampling */
	uint32		scope;			/* PlhScope */
	uint32		catch_all_site; /* offset */
	uint32		malloc_tracked; /* 1: what malloc allocates is sampled, too */

	/* what */
	uint32		used_bytes;		/* of the profile, header included */
	uint32		published_bytes;	/* of its memory in the file; 0: none */
	uint32		site_count;		/* the catch-all site not included */
	uint32		settled;		/* last_change, once it is over; 0: none is */
	PlhCounters counters;
	PlhCounters malloc_counters;	/* of these, sites of malloc */
	int64		peak_bytes;		/* highest counters.live_bytes so far */
	TimestampTz peak_at;
	int64		samples_taken;	/* samples out of scope included */
	int64		lost_samples[PLH_LOSSES];
	int64		lost_bytes[PLH_LOSSES]; /* estimated */
	int64		wrong_stacks;	/* remembered, and not found by libunwind */
	int64		overhead_bytes; /* our other memory */
	int64		profile_bytes;	/* memory behind the profile */

	/* grows with each transaction, and each second of a longer one */
	uint32		epoch;
	uint32		epoch_over;		/* the last whose transaction has ended */
	uint32		round;			/* of recycling; see above */

	/* number of the last change of a site, and of the one at the peak */
	uint64		last_change;
	uint64		peak_change;

	/* figures of the last census */
	TimestampTz census_at;		/* 0: none yet */
	TimestampTz worked_at;		/* of the last that it took of itself, as it
								 * had worked; 0: all were asked for */
	int64		context_bytes;	/* of all memory contexts */
	int64		context_free_bytes; /* of these; -1: not counted */
	int64		malloc_bytes;	/* in use; -1: not known */
	int64		malloc_free_bytes;	/* not given back; -1: not known */
	int64		malloc_sampled_bytes;	/* malloc_counters.live_bytes then */
	int64		malloc_sampled_error;	/* 95% bound of that */
	int64		malloc_other_bytes; /* allocated by threads without samples */
	int64		malloc_arena_bytes; /* of malloc_free_bytes, in arenas that
									 * glibc made for threads, at least */
	int64		own_bytes;		/* RssAnon of the process */
	int64		own_peak_bytes; /* the most of that in all censuses */
	TimestampTz own_peak_at;
	TimestampTz exits_since;	/* its exit has begun then; 0: it has not */
	int64		node_memory_bytes;	/* what a node of a plan may take */
	int64		maintenance_bytes;	/* what an index build, or VACUUM, may
									 * take */
	uint32		context_count;
	uint32		allocator;		/* PlhAllocator: whose malloc it is */
	uint32		census_changes; /* odd while these figures are written */

	uint32		history_count;
	PlhHistoryPoint history[PLH_HISTORY_POINTS];
	int64		unsampled_bytes;	/* from before sampling; -1: not known */
	int64		passing_bytes;	/* of context_bytes, what ends with a
								 * statement or transaction */
	int64		passing_sampled_bytes;	/* of these, as samples said then */
	int64		lasting_sampled_bytes;	/* and those of other contexts */
	uint32		history_passing_kb[PLH_HISTORY_POINTS]; /* passing_bytes then */
	uint32		courses_refused;	/* 1: the last point had no room for one */
	TimestampTz first_tick_at;	/* when tick 0 of births was; 0: not known */
	int64		sort_memory_bytes;	/* for a sort of a plan; 0: not known */
	TimestampTz transaction_began_at;	/* that of the last statement with
										 * samples; 0: not known */
	int64		limit_bytes;	/* process_memory_limit; 0: none */
	int64		limit_hits;		/* how often it acted beyond a limit */
	int64		decoding_bytes; /* what changes of decoded transactions may
								 * take */
	uint32		planner_settings;	/* PlhPlannerSetting */
	int32		join_collapse_limit;
	int32		from_collapse_limit;
	int32		geqo_threshold;

	/* of the last census, too */
	int64		portal_bytes;	/* of contexts of open portals */
	uint32		portal_count;	/* number of these */
	uint32		portals_noted;	/* first of the next, those that run included */
	PlhPortal	portals[PLH_PORTALS];	/* the largest first */
} PlhProfileHeader;

/* Every record begins with this struct. */
typedef struct PlhRecord
{
	uint32		kind;			/* PlhRecordKind */
	uint32		bytes;			/* of the whole record, a multiple of 8 */
	uint32		chain;			/* owner's: next record of the hash bucket, or
								 * of the same size that is free */
	uint32		hash;			/* owner's; of a free record, the one before
								 * it in its list */
	uint32		born;			/* header.round when it was added; never after
								 * that of a record that refers to it */
	uint32		references;		/* owner's: sites that refer to it; of a free
								 * record, 1 + the round in which it became
								 * so; of a site, its last_change, once it is
								 * over, or 0 */
} PlhRecord;

typedef struct PlhModuleRecord
{
	PlhRecord	record;
	uint32		index;			/* frames refer to it by this; from 1 on */
	uint32		build_id_bytes;
	uint8		build_id[PLH_BUILD_ID_MAX];
	uint32		path_bytes;		/* without the NUL that follows */
	uint64		text_address;	/* of the executable segment, in the file's */
	uint64		text_bytes;		/* own (link-time) addresses */
	uint64		text_file_offset;
	TimestampTz seen_at;		/* time of the first stack that has it */
	char		path[FLEXIBLE_ARRAY_MEMBER];
} PlhModuleRecord;

typedef struct PlhStringRecord
{
	PlhRecord	record;
	uint64		text_bytes;		/* without the NUL that follows */
	char		text[FLEXIBLE_ARRAY_MEMBER];
} PlhStringRecord;

typedef struct PlhStatementRecord
{
	PlhRecord	record;
	uint64		query_id;		/* 0 if core computed none */
	uint64		text_bytes;		/* without the NUL that follows */
	char		text[FLEXIBLE_ARRAY_MEMBER];
} PlhStatementRecord;

/*
 * A frame has a module's index in its upper 16 bits and an address of the module's file in the
 * lower 48.  Index 0 stands for no module, and the address is then the one in memory, or that of
 * PLH_COMPILED_CODE.  Addresses are return addresses minus one.
 */
typedef uint64 PlhFrame;

#define PLH_FRAME(module_index, address) \
	((uint64) (module_index) << 48 | ((uint64) (address) & PLH_FRAME_ADDRESS_MASK))
#define PLH_FRAME_ADDRESS_MASK ((UINT64CONST(1) << 48) - 1)
#define PLH_FRAME_MODULE(frame) ((uint32) ((frame) >> 48))

/*
 * A frame of a routine, which is a function of SQL or of a procedural language, or a block of DO,
 * stands before that of the function in C that has called its language.  In the place of a module
 * it has PLH_ROUTINE_MODULE, which no module has, and below that its language, the line that it was
 * at, or 0, and the offset of a string that names it.
 */
#define PLH_ROUTINE_MODULE 0x3ff
#define PLH_ROUTINE_STRING_BITS 27	/* of an offset in units of 8 */
#define PLH_ROUTINE_LINE_BITS 18
#define PLH_ROUTINE_LINE_MAX ((1 << PLH_ROUTINE_LINE_BITS) - 1)
#define PLH_ROUTINE_FRAME(language, line, string) \
	PLH_FRAME(PLH_ROUTINE_MODULE, \
			  ((uint64) (language) << PLH_ROUTINE_LINE_BITS | (line)) << \
			  PLH_ROUTINE_STRING_BITS | (string) / 8)
#define PLH_FRAME_IS_ROUTINE(frame) (PLH_FRAME_MODULE(frame) == PLH_ROUTINE_MODULE)
#define PLH_ROUTINE_LANGUAGE(frame) \
	((uint32) (PLH_FRAME_ADDRESS(frame) >> (PLH_ROUTINE_STRING_BITS + PLH_ROUTINE_LINE_BITS)))
#define PLH_ROUTINE_LINE(frame) \
	((int) (PLH_FRAME_ADDRESS(frame) >> PLH_ROUTINE_STRING_BITS) & PLH_ROUTINE_LINE_MAX)
#define PLH_ROUTINE_STRING(frame) \
	((uint32) ((frame) & ((1 << PLH_ROUTINE_STRING_BITS) - 1)) * 8)

/*
 * Is this the frame of a function whose return address a uretprobe of perf or bpftrace has
 * replaced?  It leads to a page of the kernel's at the very end of the addresses of a process,
 * whose number of bits (47, 48 or 56) depends on the processor: no code that was compiled at run
 * time lies there.
 */
#define PLH_PROBED_ADDRESSES ((UINT64CONST(1) << 47) - (128 << 10))
#define PLH_FRAME_IS_PROBED(frame) \
	(PLH_FRAME_MODULE(frame) == 0 && \
	 ((frame) & PLH_PROBED_ADDRESSES) == PLH_PROBED_ADDRESSES)
#define PLH_FRAME_ADDRESS(frame) ((frame) & PLH_FRAME_ADDRESS_MASK)

typedef struct PlhStackRecord
{
	PlhRecord	record;
	uint32		depth;			/* number of frames */
	uint16		truncated;		/* 1: the stack was deeper */
	uint16		routines;		/* number of frames that are of routines */
	PlhFrame	frames[FLEXIBLE_ARRAY_MEMBER];	/* innermost first */
} PlhStackRecord;

/*
 * The key tells one site from another.  All fields but lifetime are offsets.  PLH_FORMER_STACKS in
 * the place of a stack stands for those that were given up.
 */
#define PLH_FORMER_STACKS 1

typedef struct PlhSiteKey
{
	uint32		stack;
	uint32		context_name;	/* a string */
	uint32		statement;		/* 0: none, not tracked, or given up */
	uint32		lifetime;		/* PlhLifetime */
} PlhSiteKey;

/* The live figures of a site, some epochs after its first sample. */
typedef struct PlhCheckpoint
{
	uint32		epochs;			/* since the first sample; 0: not there */
	uint32		live_samples;
	int64		live_bytes;
	TimestampTz at;
} PlhCheckpoint;

/*
 * A birth is noted as the tick in which its epoch began: 2^20 us, some 1.05 s, of the monotonic
 * clock, which nobody sets.  A site's spans are equally long, 2^shift ticks, and begin with its
 * first sample.  When more time has passed than they cover, each two of them become one.
 *
 * Each site has one span that is as long as its life.  With a sample of a second tick it gets a
 * record of shorter ones, if there is room: most sites never need that.
 */
#define PLH_TICK_BITS 20
#define PLH_SPANS 8

/*
 * A sample keeps that many bits of its tick, which tell it within 2 years of a site's life.  Births
 * of later years are counted with those of the first, and exactly so.
 */
#define PLH_BIRTH_BITS 26

/* What a site allocated within one span of time, and what of that it still holds. */
typedef struct PlhSpan
{
	int64		live_bytes;		/* all spans add up to the site's live_bytes,
								 * and these to its born_bytes */
	int64		total_bytes;
} PlhSpan;

/* Where the spans of a site begin, and how long they are. */
typedef struct PlhBirths
{
	uint32		first_tick;
	uint32		shift;
} PlhBirths;

/* Of one site, which refers to it. */
typedef struct PlhSpansRecord
{
	PlhRecord	record;
	PlhBirths	births;
	PlhSpan		spans[PLH_SPANS];	/* the oldest first */
} PlhSpansRecord;

/* Of these, one lies after the middle of a site's life, and one before it. */
#define PLH_CHECKPOINTS 3

/* The key of the catch-all site consists of zeros. */
typedef struct PlhSiteRecord
{
	PlhRecord	record;
	PlhSiteKey	key;
	PlhCounters counters;
	uint64		last_change;	/* its number; 0: none */
	int64		peak_bytes;		/* live bytes at the process' peak, if that
								 * was before last_change; else live_bytes are
								 * these */
	uint32		first_epoch;
	uint32		last_epoch;		/* of the last sample */
	uint32		epochs;			/* number of those with samples; 0: it has
								 * only totals of sites that were given up */
	uint32		next_checkpoint;	/* due that many epochs after the first */
	PlhCheckpoint checkpoints[PLH_CHECKPOINTS]; /* the oldest first */
	uint32		transactions;	/* number of those with samples */
	uint32		last_transaction;	/* owner's: local id of the last of them */
	PlhBirths	births;			/* of the span that is as long as its life */
	int64		born_bytes;		/* in that; total_bytes without those of sites
								 * that were given up */
	uint32		spans;			/* offset of the record of the shorter ones,
								 * which add up to it; 0: there is none */

	/*
	 * Owner's: live bytes, in kB, when the statement began and at its peak,
	 * if last_change is behind that (PlhRun).
	 */
	uint32		run_start_kb;
	uint32		run_peak_kb;

	/* what the chunks of total_bytes take beyond these: rounding, headers */
	float		spare_bytes;
} PlhSiteRecord;

/* What a site of the process held when the process held most. */
static inline int64
plh_site_peak_bytes(const PlhProfileHeader *header, const PlhSiteRecord *site)
{
	return site->last_change > header->peak_change ? site->peak_bytes : site->counters.live_bytes;
}

/* What a site's chunks take beyond what was asked for, as a part of that; of a chunk of 1 B, 31. */
static inline double
plh_site_spare_part(const PlhSiteRecord *site)
{
	double		part = site->spare_bytes / (double) Max(site->counters.total_bytes, 1);

	return part > 0.0 && part < 64.0 ? part : 0.0;
}

/* Records that may be given up have sizes that are multiples of this. */
#define PLH_RECORD_STEP 32

/* Every file has at least these bytes: the header and the catch-all site. */
#define PLH_PROFILE_FIRST_BYTES \
	(MAXALIGN(sizeof(PlhProfileHeader)) + \
	 TYPEALIGN(PLH_RECORD_STEP, sizeof(PlhSiteRecord)))

/* How many contexts there were, 1, 2, 4, ... seconds after the first of them. */
typedef struct PlhContextCheckpoint
{
	TimestampTz at;				/* 0: not there */
	int64		instances;
	int64		bytes;
} PlhContextCheckpoint;

/* The memory contexts of one name and lifetime, as of the last census. */
typedef struct PlhContextRecord
{
	PlhRecord	record;
	uint32		context_name;	/* a string */
	uint32		lifetime;		/* PlhLifetime */
	uint32		next;			/* owner's: next such record */
	uint32		census;			/* owner's: number of its last census */
	int64		instances;
	int64		bytes;
	int64		counted_instances;	/* owner's: so far in this census */
	int64		counted_bytes;
	TimestampTz first_at;		/* of the first census that counted some */
	int64		most_instances; /* of all censuses */
	int64		rises;			/* number of censuses with more than ever */
	PlhContextCheckpoint checkpoints[PLH_CHECKPOINTS];	/* the oldest first */
	uint32		examples;		/* offset of the first example; 0: none */
	uint32		looks;			/* owner's: this census looks at them */
	int64		looked_us;		/* owner's: when one did, by its clock */
	int64		looked_contexts;	/* instances and bytes then */
	int64		looked_bytes;
} PlhContextRecord;

/* A record of contexts has at most this many examples, cut to these bytes. */
#define PLH_EXAMPLES 4
#define PLH_EXAMPLE_MAX 511

/* How the figures of an example are to be read. */
#define PLH_EXAMPLE_VARIES 0x1	/* others differ in literals and digits */
#define PLH_EXAMPLE_AT_LEAST 0x2	/* there may be more */
#define PLH_EXAMPLE_ABOUT 0x4	/* a part of the contexts was looked at */
#define PLH_EXAMPLE_UNCOUNTED 0x8	/* there is at least one; the figures say
									 * nothing */

/* What some of the contexts of a record are of. */
typedef struct PlhExampleRecord
{
	PlhRecord	record;
	uint32		next;			/* offset of the one that has less; 0: none */
	uint32		flags;			/* PLH_EXAMPLE_* */
	int64		contexts;
	int64		bytes;			/* of these */
	uint64		text_bytes;		/* without the NUL that follows */
	char		text[FLEXIBLE_ARRAY_MEMBER];
} PlhExampleRecord;

/* What a course is of.  Stored in profiles: append only. */
typedef enum PlhCourseKind
{
	PLH_COURSE_CONTEXTS = 1,	/* the memory contexts of a record */
	PLH_COURSE_SITE
#define PLH_COURSE_KINDS (PLH_COURSE_SITE + 1)
} PlhCourseKind;

/* A profile has at most this many courses of each kind. */
#define PLH_COURSES 16

/*
 * What the contexts of one name and lifetime, or a site, held at each point of the history.  Each
 * figure is one more than what it says; 0 stands for a point at which it was not followed.  A site
 * has the key and the birth that are noted here, or the course is over.
 */
typedef struct PlhCourseRecord
{
	PlhRecord	record;
	uint32		course_of;		/* PlhCourseKind */
	uint32		followed;		/* offset of the contexts or the site */
	PlhSiteKey	key;			/* of a site */
	uint32		born;			/* of the record that is followed */
	uint32		kilobytes[PLH_HISTORY_POINTS];
	uint32		contexts[FLEXIBLE_ARRAY_MEMBER];	/* likewise; not of a site */
} PlhCourseRecord;
