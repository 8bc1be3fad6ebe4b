/*
 * listener.h
 *	  Listens at the USDT probes of this program, as tracers do: by a breakpoint where each is.
 */
#ifndef LISTENER_H
#define LISTENER_H

/* What was heard, the oldest first: the arguments are those of otel_memory. */
typedef struct HeardEvent
{
	bool		is_free;
	const void *pointer;
	uint64		size;			/* of an alloc */
	uint64		weight;			/* the same */
} HeardEvent;

#define MAX_HEARD 100
extern HeardEvent heard[MAX_HEARD];
extern int	heard_events;		/* also those beyond MAX_HEARD */

/*
 * Who is not counted must hear nothing.  Returns false if this program does not have one note of
 * each probe, or its code can't be changed.
 */
extern bool listen_at_probes(bool is_counted);
extern void stop_listening(void);

#endif							/* LISTENER_H */
