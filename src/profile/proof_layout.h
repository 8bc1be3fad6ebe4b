/*
 * proof_layout.h
 *	  The layout of a proof: which chunks of a process nothing points to, and who holds the rest.
 *
 * A proof is of one moment.  The file of a process' last one lies beside its profile; it is
 * written as a whole by a child that the process has forked, and never changes.  It is a header,
 * followed by groups, holdings, and texts, each of which ends with a NUL; a text is referred to by
 * its offset from the first of them, and the text at 0 is empty.
 *
 * lost		no word of the process points to the chunk, or only words of chunks that are lost:
 *			nobody can use it or free it by its address
 * held		there is a way to it from a root: a variable, a stack, memory that is not understood
 *
 * Lost memory is resettable where somebody still has the address of its context, or of one above it
 * that is not the session's own, and so can free it with the context.
 *
 * Whoever changes the layout changes PLH_PROOF_MAGIC: readers refuse all others.
 */
#pragma once

#include "datatype/timestamp.h"

#include "profile/profile_layout.h"

#define PLH_PROOF_MAGIC "PLHPF03"

/* A proof has at most this many groups and holdings, and so many bytes of texts. */
#define PLH_PROOF_GROUPS 8192
#define PLH_PROOF_HOLDINGS 2048
#define PLH_PROOF_TEXT_BYTES (1 << 20)

/* What came of it.  Stored: append only. */
typedef enum PlhProofOutcome
{
	PLH_PROOF_PROVEN,
	PLH_PROOF_TOO_LARGE,		/* beyond what may be looked at unasked */
	PLH_PROOF_NO_FORK,			/* no process could be forked */
	PLH_PROOF_NO_MEMORY,		/* the child's memory did not suffice */
	PLH_PROOF_NO_TIME,			/* nor its time */
	PLH_PROOF_UNKNOWN_LAYOUT,	/* contexts are not what they are in this
								 * version */
	PLH_PROOF_DIED				/* the child was ended, or memory could not be
								 * read */
#define PLH_PROOF_OUTCOMES (PLH_PROOF_DIED + 1)
} PlhProofOutcome;

/* What came of malloc's blocks.  Stored: append only. */
typedef enum PlhProofMalloc
{
	PLH_PROOF_MALLOC_UNKNOWN,	/* its memory is not understood: all of it is
								 * held */
	PLH_PROOF_MALLOC_PROVEN,	/* blocks are chunks of the context
								 * PLH_MALLOC_NAME */
	PLH_PROOF_MALLOC_THREADS,	/* other threads may have pointers in
								 * registers */
	PLH_PROOF_MALLOC_OTHER		/* it is not glibc's */
#define PLH_PROOF_MALLOCS (PLH_PROOF_MALLOC_OTHER + 1)
} PlhProofMalloc;

/* What a group of memory contexts is called that are lost as a whole. */
#define PLH_PROOF_LOST_CONTEXT "memory context"

/*
 * Chunks of one site, which its live samples stand for, or all chunks of one kind in contexts of
 * one name, which are counted.
 */
typedef struct PlhProofGroup
{
	uint32		site;			/* offset of its record; 0: chunks of a kind */
	uint32		born;			/* of that record */
	uint32		context_name;	/* texts, where they are not 0 */
	uint32		what;			/* chunks of a kind: which */
	uint32		holder;			/* the root that holds most of what is held */
	uint32		path;			/* and the way from there to a chunk */
	uint32		lifetime;		/* PlhLifetime */
	uint32		what_of_user;	/* text that is data of users; 0: none */
	int64		chunks;			/* of a site, estimated; else counted */
	int64		bytes;			/* of a site, as asked for; else as they take */
	int64		lost_chunks;	/* of these */
	int64		lost_bytes;
	int64		resettable_chunks;	/* of lost_chunks */
	int64		resettable_bytes;	/* of lost_bytes */
	int64		samples;		/* of a site: found among live ones */
	int64		lost_samples;
	double		lost_variance;	/* of lost_bytes, in bytes squared; 0: counted */
	int64		holder_bytes;	/* of bytes - lost_bytes, what the holder
								 * holds */
} PlhProofGroup;

/* What one root holds of the chunks of one kind. */
typedef struct PlhProofHolding
{
	uint32		holder;			/* text: several roots may have the same */
	uint32		group;			/* number, of a kind */
	int64		bytes;
}			PlhProofHolding;

typedef struct PlhProof
{
	char		magic[8];
	uint32		outcome;		/* PlhProofOutcome */
	int32		pid;
	uint64		process_start;	/* as in the profile */
	TimestampTz at;				/* when the process was as it says */
	uint32		group_count;
	uint32		text_bytes;
	int64		private_bytes;	/* RssAnon of the process then */
	int64		contexts;		/* that were walked, chunk by chunk */
	int64		chunks;
	int64		bytes;
	int64		lost_chunks;
	int64		lost_bytes;
	int64		resettable_bytes;
	int64		closed_contexts;	/* that did not fit: all in them is held */
	int64		closed_bytes;
	int64		left_out_groups;	/* that had no room, the smallest */
	int64		fork_us;		/* for which the process stood still */
	int64		child_us;		/* processor time of the child */
	int64		child_bytes;	/* the most that it took */
	int32		problem;		/* errno or signal, where the outcome has one */
	uint32		holding_count;	/* the largest; the others are what is held
								 * beyond their sum */
	uint32		malloc;			/* PlhProofMalloc */
	uint32		site_count;		/* groups of sites come first, by ascending
								 * site */
	PlhProofGroup groups[FLEXIBLE_ARRAY_MEMBER];
} PlhProof;

/* The most bytes of a file. */
#define PLH_PROOF_MOST_BYTES \
	(offsetof(PlhProof, groups) + PLH_PROOF_GROUPS * sizeof(PlhProofGroup) + \
	 PLH_PROOF_HOLDINGS * sizeof(PlhProofHolding) + PLH_PROOF_TEXT_BYTES)
