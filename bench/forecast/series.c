/*
 * series.c
 *	  How good forecasts are, by series of the room in memory whose end is known.
 *
 * Each kind of series is made anew for each seed: a server with its usual ups and downs, and
 * something that takes memory until none is left, or that ends by itself.  The course is asked as
 * the keeper asks it, at the same distances.
 */
#include "postgres.h"

#include <math.h>

#include "judge/memory_course.h"

#define MB 1048576.0
#define STEP_S 0.05

/* The limit is within a third of the truth. */
#define ALLOWED_PART (1 / 3.0)

/* From this time before the kernel kills, a forecast has to be right. */
#define JUDGED_S 120

/* What takes memory. */
typedef enum Shape
{
	STEADY,
	STEPS,						/* much at a time, and then nothing for a while */
	DOUBLING,
	FASTER,						/* ever more sessions do it */
	BURST,						/* it ends by itself, and is kept */
	SAWTOOTH,					/* it is freed, and begins anew */
	ORDINARY					/* nothing but the ups and downs */
} Shape;

typedef struct Kind
{
	const char *name;
	Shape		shape;
	double		noise_s;		/* other work has what is taken in this time */
	double		slowest;		/* MB per second, and the fastest */
	double		fastest;
} Kind;

static const Kind kinds[] = {
	{"steady, nothing else", STEADY, 0, 1, 500},
	{"steady, little other work", STEADY, 2, 1, 100},
	{"steady, other work", STEADY, 10, 1, 50},
	{"in steps of 2 to 20 s", STEPS, 1, 1, 20},
	{"doubling", DOUBLING, 1, 0.5, 20},
	{"ever faster", FASTER, 1, 0.5, 10},
	{"bursts that end", BURST, 1, 5, 200},
	{"up and down", SAWTOOTH, 1, 5, 200},
	{"ordinary work", ORDINARY, 1, 1, 200}
};

static uint64 random_state;

/* Splitmix. */
static double
draw(void)
{
	uint64		mixed = random_state += UINT64CONST(0x9E3779B97F4A7C15);

	mixed = (mixed ^ (mixed >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	mixed = (mixed ^ (mixed >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return ((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53;
}

static double
draw_between(double least, double most)
{
	return least + draw() * (most - least);
}

/* One that is as likely to be 1 to 2 as 10 to 20. */
static double
draw_scale(double least, double most)
{
	return least * pow(most / least, draw());
}

/* A server, and what becomes of it. */
typedef struct Run
{
	const Kind *kind;
	double		limit;			/* MB, as all of these */
	double		base;			/* that it always has */
	double		noise;			/* that other work has now */
	double		noise_to;		/* and that it changes to */
	double		begins_s;
	double		ends_s;			/* of a burst, or of each tooth */
	double		rate;			/* per second */
	double		step_s;
	double		taken;
	bool		takes;			/* now */
} Run;

static Run
begin_run(const Kind *kind, int seed)
{
	Run			run = {kind};

	random_state = (uint64) seed * lengthof(kinds) + (kind - kinds);
	run.limit = draw_scale(256, 16384);
	run.base = run.limit * draw_between(0.2, 0.5);
	run.begins_s = draw_between(20, 200);
	run.rate = kind->fastest > 0 ? draw_scale(kind->slowest, kind->fastest) : 0;
	run.step_s = draw_between(2, 20);
	run.ends_s = run.begins_s + (run.limit - run.base) * draw_between(0.05, 0.6) /
		Max(run.rate, 0.001);
	return run;
}

/* Other work goes towards a level, by and by, and then towards another one. */
static void
change_noise(Run *run)
{
	double		most = Min(run->limit / 10, run->rate * run->kind->noise_s);

	if (most == 0)
		return;
	run->noise += (run->noise_to - run->noise) * 0.02;
	if (draw() < STEP_S / 3)
		run->noise_to = draw_between(0, most);
}

static double
rate_now(const Run *run, double now_s)
{
	double		since = now_s - run->begins_s;

	switch (run->kind->shape)
	{
		case STEPS:
			return fmod(since, run->step_s) < STEP_S ? run->rate * run->step_s / STEP_S : 0;
		case DOUBLING:
			return (run->taken + run->limit / 64) * run->rate / run->limit * 4;
		case FASTER:
			return run->rate * (1 + since / 30);
		default:
			return run->rate;
	}
}

/* One step in time.  Returns false once there is no room. */
static bool
take_step(Run *run, double now_s)
{
	change_noise(run);
	run->takes = now_s >= run->begins_s && run->kind->shape != ORDINARY &&
		(run->kind->shape < BURST || now_s < run->ends_s);
	if (run->takes)
		run->taken += rate_now(run, now_s) * STEP_S;
	else if (run->kind->shape == SAWTOOTH && now_s > run->ends_s)
	{
		double		length = run->ends_s - run->begins_s;

		run->taken = 0;
		run->begins_s = now_s + draw_between(1, 30);
		run->ends_s = run->begins_s + length * draw_between(0.8, 1);
	}
	return run->base + run->noise + run->taken < run->limit;
}

/* What was foreseen, look by look. */
#define MOST_LOOKS 100000

static struct
{
	double		at_s;
	double		left_s;
	bool		takes;
}			told[MOST_LOOKS];

/* The keeper's next look. */
static double
pause_s(const PlhMemoryCourse *course)
{
	return Min(Max(plh_memory_course_left_us(course) / 16e6, 0.1), 1);
}

/* Let a run go on until there is no room, or an hour is over.  Returns how often it was told. */
static int
let_run(Run *run, double *end_s)
{
	PlhMemoryCourse course = {0};
	double		next_s = 0;
	int			count = 0;

	for (*end_s = 0; *end_s < 3600; *end_s += STEP_S)
	{
		PlhMemoryForecast forecast;
		PlhMemoryLook now;

		if (!take_step(run, *end_s))
			break;
		if (*end_s < next_s)
			continue;
		now = (PlhMemoryLook)
		{
			1 + *end_s * 1e6, (run->limit - run->base - run->noise - run->taken) * MB, 0
		};
		plh_memory_course_note(&course, run->limit * MB, &now);
		next_s = *end_s + pause_s(&course);
		if (!plh_memory_course_foresee(&course, &forecast) || count == MOST_LOOKS)
			continue;
		told[count].at_s = *end_s;
		told[count].takes = run->takes;
		told[count++].left_s = forecast.left_us / 1e6;
	}
	return count;
}

/* The sums over the runs of a kind. */
typedef struct Sums
{
	int			runs;
	int			ended;			/* without room */
	int			told;			/* before that, or at all */
	int			judged;			/* forecasts in the last two minutes */
	int			right;
	int			all_right;		/* runs with no wrong one then */
	double		lead;			/* sum of the part of the time that was left
								 * at the first forecast */
	int			too_late;		/* forecasts when nothing took memory */
	double		longest_late_s;
} Sums;

static void
add_late(Sums *sums, int count)
{
	double		began_s = 0;

	for (int i = 0; i < count; i++)
	{
		if (told[i].takes)
			began_s = told[i].at_s;
		else
		{
			sums->too_late++;
			sums->longest_late_s = Max(sums->longest_late_s, told[i].at_s - began_s);
		}
	}
}

static void
add_run(Sums *sums, const Kind *kind, int seed)
{
	Run			run = begin_run(kind, seed);
	double		end_s;
	int			count = let_run(&run, &end_s);
	double		allowed_s = kind->shape == STEPS ? run.step_s : 0.1;
	bool		all_right = true;

	sums->runs++;
	sums->told += count > 0;
	if (end_s >= 3600)
	{
		add_late(sums, count);
		return;
	}
	sums->ended++;
	for (int i = 0; i < count; i++)
	{
		double		truth = end_s - told[i].at_s;
		bool		right = fabs(told[i].left_s - truth) <= truth * ALLOWED_PART + allowed_s;

		if (truth > JUDGED_S)
			continue;
		sums->judged++;
		sums->right += right;
		all_right = all_right && right;
	}
	sums->all_right += all_right && count > 0;
	if (count > 0)
		sums->lead += (end_s - told[0].at_s) / (end_s - run.begins_s);
}

int
main(int argc, char **argv)
{
	int			runs = argc > 1 ? atoi(argv[1]) : 200;

	printf("%-28s %6s %8s %8s %10s %10s %8s %10s\n", "kind", "runs", "ended", "told",
		   "right", "all right", "lead", "too late");
	for (int k = 0; k < lengthof(kinds); k++)
	{
		Sums		sums = {0};

		for (int seed = 1; seed <= runs; seed++)
			add_run(&sums, &kinds[k], seed);
		printf("%-28s %6d %8d %8d", kinds[k].name, sums.runs, sums.ended, sums.told);
		if (sums.ended > 0)
			printf(" %9.1f%% %9.1f%% %7.0f%%\n", 100.0 * sums.right / Max(1, sums.judged),
				   100.0 * sums.all_right / sums.ended, 100 * sums.lead / Max(1, sums.ended));
		else
			printf(" %10s %10s %8s %6d, %.1f s\n", "-", "-", "-", sums.too_late,
				   sums.longest_late_s);
	}
	return 0;
}
