/*
 * memory_course.h
 *	  When memory will run out, by the room that was left at one moment after another.
 *
 * Pure functions: they allocate nothing, never throw, and call nothing of the server.
 */
#pragma once

/* The looks that are kept, and of these the last ones that are all kept. */
#define PLH_MEMORY_LOOKS 64
#define PLH_MEMORY_DENSE_LOOKS 32

/* Growth that ended is remembered for a day, and what is farther than these hours is not told. */
#define PLH_MEMORY_REMEMBERED_US INT64CONST(86400000000)
#define PLH_MEMORY_FARTHEST_US INT64CONST(14400000000)

/*
 * Growth is told of once it has taken this part of the room that is left.  Where growth has ended
 * by itself that had left less room, it has to have taken more.
 */
#define PLH_MEMORY_TAKEN_PART 0.75
#define PLH_MEMORY_TAKEN_AGAIN 2.0

/* Growth is steady if the rate of four parts of its time is known as well as this. */
#define PLH_MEMORY_STEADY_PART 0.25

/* The room at a moment, by the monotonic clock. */
typedef struct PlhMemoryLook
{
	int64		at_us;
	int64		room_bytes;
	int64		promised_bytes; /* to what may take them, and no more than
								 * that */
} PlhMemoryLook;

typedef struct PlhMemoryCourse
{
	int64		limit_bytes;	/* of what the room is left */
	int			count;
	PlhMemoryLook looks[PLH_MEMORY_LOOKS];	/* the oldest first */
	bool		grows;			/* at the last look */
	int64		least_bytes;	/* of room that is not promised, while it
								 * grows */
	int			resting;		/* looks without growth */
	int64		rested_at_us;	/* the last time when that was a rest */
	bool		has_ended;		/* growth has ended by itself */
	int64		ended_bytes;	/* the least room that was left by any */
	int64		ended_at_us;
} PlhMemoryCourse;

typedef struct PlhMemoryForecast
{
	int64		left_us;		/* until there is no room */
	int64		soonest_us;		/* by the error of the rate */
	int64		latest_us;
	int64		grown_bytes;	/* since the growth began, and the time */
	int64		grown_us;
	double		bytes_per_second;
	bool		takes_now;		/* since the look before the last one, too */
} PlhMemoryForecast;

/* Note what there is now.  A course of another limit begins anew. */
extern void plh_memory_course_note(PlhMemoryCourse *course, int64 limit_bytes,
								   const PlhMemoryLook *now);

/*
 * Returns false if the room does not become less, or not steadily, or not for long enough, or will
 * last for hours.  Called once after each look, as it notes which growth has ended.
 */
extern bool plh_memory_course_foresee(PlhMemoryCourse *course, PlhMemoryForecast *forecast);

/* The time that the last two looks leave, whatever was before; PG_INT64_MAX if none was taken. */
extern int64 plh_memory_course_left_us(const PlhMemoryCourse *course);
