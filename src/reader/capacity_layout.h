/*
 * capacity_layout.h
 *	  The layout of the file of capacity: what sessions have grown to, and what their statements
 *	  took together, as the keeper has seen it.
 *
 * The keeper looks at all sessions every few seconds, and adds up what it has seen by kind.  A kind
 * is a role with an application.  The file has a PlhCapacityRecord without the kinds that are not
 * used.  Whoever changes the layout changes PLH_CAPACITY_LAYOUT.
 */
#pragma once

#include "datatype/timestamp.h"

#include "base/limits.h"

#define PLH_CAPACITY_MAGIC "PLHCAPA"
#define PLH_CAPACITY_LAYOUT 1

/* The most kinds.  The one that was seen longest ago goes first. */
#define PLH_CAPACITY_KINDS 64

#define PLH_CAPACITY_NAME_BYTES 64	/* of an application; a longer one is cut */

/*
 * The first age is that of sessions of up to a minute, and each lasts twice as long as all before
 * it.  The last one, beyond 22 days, has no end.
 */
#define PLH_CAPACITY_AGES 17
#define PLH_CAPACITY_FIRST_US INT64CONST(60000000)

/* What a session keeps; all else is what no count tells apart. */
typedef enum PlhCapacityPart
{
	PLH_CAPACITY_CATALOGS,		/* caches of catalogs */
	PLH_CAPACITY_PLANS,			/* and of plans and functions */
	PLH_CAPACITY_CONTEXTS,		/* all other memory contexts of the session */
	PLH_CAPACITY_MALLOC,		/* what malloc has given to others */
	PLH_CAPACITY_FREED,			/* what malloc has kept that was freed */
	PLH_CAPACITY_BESIDE			/* page tables, swap and the profile */
#define PLH_CAPACITY_PARTS (PLH_CAPACITY_BESIDE + 1)
} PlhCapacityPart;

/* What sessions kept when they were last seen at an age. */
typedef struct PlhCapacityPoint
{
	int64		sessions;
	double		age_us;			/* sums over these */
	double		bytes;
	double		bytes_squares;
	int64		counted;		/* of these, those of which parts are known */
	double		counted_bytes;	/* these keep */
	double		parts[PLH_CAPACITY_PARTS];
} PlhCapacityPoint;

/* What statements, and transactions that were open, took at the same moment. */
typedef struct PlhCapacityTogether
{
	int64		looks;			/* those at which there were sessions */
	double		sessions;		/* sums over looks */
	double		sessions_squares;
	double		active;
	double		bytes;			/* of all of the look's statements */
	double		bytes_squares;
	double		bytes_sessions; /* times the number of sessions */
	double		session_squares;	/* of the bytes of each session */
	int64		most_bytes;		/* at one look */
	int64		most_sessions;	/* that there were then */
	int64		most_active;	/* and how many of these ran statements */
	TimestampTz most_at;
	int64		active_most;	/* at any look */
	int64		sessions_most;
	int64		largest_bytes;	/* of one session */
} PlhCapacityTogether;

typedef struct PlhCapacityKind
{
	Oid			role;
	char		application[PLH_CAPACITY_NAME_BYTES];	/* may be empty */
	TimestampTz first_at;
	TimestampTz last_at;		/* of the last look that saw such a session */
	int64		sessions_seen;
	int64		age_looks[PLH_CAPACITY_AGES];	/* sum over looks of sessions
												 * of that age */
	PlhCapacityTogether together;
	PlhCapacityPoint past[PLH_CAPACITY_AGES];	/* of sessions that are older
												 * now, or gone */
	PlhCapacityPoint now[PLH_CAPACITY_AGES];	/* of those of the last look */
} PlhCapacityKind;

typedef struct PlhCapacityRecord
{
	char		magic[8];
	uint32		layout_version;
	uint32		kind_bytes;
	uint64		system_identifier;
	TimestampTz since;			/* of the first look */
	TimestampTz last_at;		/* of the last */
	int64		watched_us;		/* between looks, without the time in which
								 * there was no server */
	int64		looks;
	int64		forgotten_kinds;	/* that had to go */
	int64		unnoted_sessions;	/* sum over looks: their kinds had no room */
	PlhCapacityTogether together;	/* of all sessions */
	uint32		kind_count;
	uint32		unused;
	PlhCapacityKind kinds[PLH_CAPACITY_KINDS];
} PlhCapacityRecord;

#define PLH_CAPACITY_BYTES(kind_count) \
	(offsetof(PlhCapacityRecord, kinds) + sizeof(PlhCapacityKind) * (Size) (kind_count))
