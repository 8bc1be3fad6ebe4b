/*
 * test_threads.c
 *	  Threads that allocate, reallocate and free each other's blocks, one of which is
 *	  sampled.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_sampler.h"
#include "tap.h"
#include "test_threads.h"

#define THREADS 4
#define SLOTS 256

/* Blocks that any thread may take; of each the first byte is said by its address. */
static unsigned char *slots[SLOTS];
static bool is_ending;
static long damaged;

typedef struct Worker
{
	pthread_t	thread;
	unsigned	seed;
	long		operations;		/* or until is_ending, if 0 */
	uint64_t	bytes;			/* that it has allocated */
} Worker;

static Worker workers[THREADS];

static unsigned char
mark_of(const unsigned char *block)
{
	return (uintptr_t) block >> 4;
}

static unsigned char *
take_block(unsigned slot)
{
	unsigned char *block = __atomic_exchange_n(&slots[slot], NULL, __ATOMIC_ACQ_REL);

	if (block != NULL && *block != mark_of(block))
		__atomic_fetch_add(&damaged, 1, __ATOMIC_RELAXED);
	return block;
}

static unsigned char *
allocate(Worker *worker, unsigned char *old, size_t size)
{
	unsigned char *block = NULL;

	worker->bytes += size;
	switch (rand_r(&worker->seed) % 5)
	{
		case 0:
			return realloc(old, size);
		case 1:
			block = reallocarray(old, size / 8, 8);
			return block;
		case 2:
			block = calloc(size / 8, 8);
			break;
		case 3:
			if (posix_memalign((void **) &block, 64, size) != 0)
				abort();
			break;
		default:
			block = malloc(size);
	}
	free(old);
	return block;
}

/* Take a block, replace it, and put it where another thread may find it. */
static void
swap_block(Worker *worker)
{
	unsigned char *block = take_block(rand_r(&worker->seed) % SLOTS);

	block = allocate(worker, block, (size_t) 8 * (1 + rand_r(&worker->seed) % 400));
	*block = mark_of(block);
	free(__atomic_exchange_n(&slots[rand_r(&worker->seed) % SLOTS], block, __ATOMIC_ACQ_REL));
}

static void *
work(void *argument)
{
	Worker	   *worker = argument;

	if (worker->operations == 0)
		while (!__atomic_load_n(&is_ending, __ATOMIC_RELAXED))
			swap_block(worker);
	else
		for (long i = 0; i < worker->operations; i++)
			swap_block(worker);
	return NULL;
}

void
threads_start(long operations)
{
	is_ending = false;
	for (int i = 0; i < THREADS; i++)
	{
		Worker	   *worker = &workers[i];

		worker->seed = 1 + i;
		worker->operations = operations;
		worker->bytes = 0;
		if (pthread_create(&worker->thread, NULL, work, worker) != 0)
			abort();
	}
}

void
threads_work_too(long operations)
{
	Worker		worker = {.seed = 100};

	worker.operations = operations;
	work(&worker);
}

uint64_t
threads_end(bool at_once)
{
	uint64_t	bytes = 0;

	if (at_once)
		__atomic_store_n(&is_ending, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
	{
		pthread_join(workers[i].thread, NULL);
		bytes += workers[i].bytes;
	}
	return bytes;
}

void
threads_free_blocks(void)
{
	for (int slot = 0; slot < SLOTS; slot++)
		free(take_block(slot));
}

static void
test_gap(uint64_t gap, long operations)
{
	uint64_t	other_before = fake_other_bytes();
	int64_t		difference;
	Seen		after;

	fake_start(gap);
	fake_watch();
	threads_start(operations);
	threads_work_too(operations);
	difference = (int64_t) threads_end(false);
	difference -= (int64_t) (fake_other_bytes() - other_before);
	threads_free_blocks();
	fake_stop();
	after = fake_seen();
	ok(damaged == 0, "%d threads swap blocks, sampled each %d bytes", THREADS, (int) gap);
	/* What libc keeps of a thread is a sample, too. */
	ok(after.recorded > 100 && after.recorded - after.freed <= 2 * THREADS && after.freed_elsewhere > 0,
	   "%ld of %ld samples are freed, %ld by another thread", after.freed, after.recorded, after.freed_elsewhere);
	is(after.recorded_twice + after.nulls, 0, "no free is missed");
	ok(difference >= 0 && difference <= THREADS * (int64_t) PLH_MALLOC_OTHER_STEP,
	   "what other threads allocate is counted, but for %d bytes", (int) difference);
}

static void *
free_and_reallocate(void *argument)
{
	void	  **blocks = argument;

	free(blocks[0]);
	free(realloc(blocks[1], 1 << 18));
	return NULL;
}

/* Blocks of the sampled thread, in another one. */
static void
test_handover(void)
{
	pthread_t	thread;
	void	   *blocks[2];
	Seen		after;

	fake_start(0);
	blocks[0] = malloc(1000);
	blocks[1] = malloc(1000);
	fake_watch();
	if (pthread_create(&thread, NULL, free_and_reallocate, blocks) != 0)
		abort();
	pthread_join(thread, NULL);
	after = fake_seen();
	is(after.freed_elsewhere, 2, "another thread frees a block and reallocates one");
	is(after.recorded_twice, 0, "a block that another thread has reallocated is no sample");
	fake_stop();
}

void
test_threads(void)
{
	long		operations = 100000;

	test_handover();
	test_gap(0, operations);
	test_gap(1000, operations);
	test_gap(20000, operations);
}
