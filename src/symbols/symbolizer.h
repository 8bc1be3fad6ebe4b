/*
 * symbolizer.h
 *	  A process that reads binaries and debug files for a session.
 *
 * Debug files can be large, slow to come, or broken.  Read by a process of its
 * own, they cost the session neither memory nor its life, and a query that
 * waits for them can be cancelled.
 *
 * Never called inside palloc.  Errors of the symbolizer are answers; only an
 * interrupt of the session is thrown.
 */
#ifndef PLH_SYMBOLIZER_H
#define PLH_SYMBOLIZER_H

#include "profile/profile_layout.h"
#include "symbols/debug_info.h"

typedef struct PlhSymbolizer PlhSymbolizer;

/* Bytes of frames in an answer; what goes beyond is cut off. */
#define PLH_ANSWER_MAX 16384

/*
 * What is known about an address.  Behind it, for each frame, the innermost
 * first: line (uint32, not aligned, the highest bit set if inlined), function
 * and file (texts with their NUL, the file empty if not known).
 */
typedef struct PlhSymbolAnswer
{
	uint32		status;			/* PlhModuleStatus */
	uint32		source;			/* PlhSymbolSource */
	uint32		frames_bytes;
	char		frames[PLH_ANSWER_MAX];
} PlhSymbolAnswer;

/* Asks for the file that has a module's symbols, as the file of one frame. */
#define PLH_WHOLE_MODULE UINT64_MAX

extern PlhSymbolizer *plh_symbolizer_open(void);
extern void plh_symbolizer_ask(PlhSymbolizer *symbolizer,
							   const PlhModuleRecord *module, uint64 address,
							   PlhSymbolAnswer *answer);
extern const char *plh_symbolizer_frame(const char *position,
										const char *end,
										PlhSourceFrame *frame);

#endif							/* PLH_SYMBOLIZER_H */
