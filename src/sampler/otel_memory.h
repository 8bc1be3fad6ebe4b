/*
 * otel_memory.h
 *	  Tells of samples by USDT probes, which eBPF profilers and tracers listen at.
 *
 * The probes are those that OpenTelemetry's eBPF profiler expects of an allocator that samples:
 *
 *		otel_memory:alloc(pointer, size, weight)	a sample; weight: the bytes that it stands for
 *		otel_memory:free(pointer)					its memory is free, or is about to be
 *
 * A probe is an instruction that does nothing, and a note about it in the module's file.  Whoever
 * listens has the kernel put a breakpoint there and count itself in a variable of ours, by process.
 *
 * These functions may be called inside palloc and malloc; they never allocate, throw or lock.
 */
#pragma once

#include "base/sampling.h"

/* How many listen at each probe, in this process.  Only listeners write to them. */
extern volatile uint16 plh_otel_memory_alloc_listeners;
extern volatile uint16 plh_otel_memory_free_listeners;

extern void plh_otel_memory_tell_alloc(const void *pointer, Size size, PlhDraw draw);
extern void plh_otel_memory_tell_free(const void *pointer);

/* A sample was counted: where nobody listens, that takes one comparison. */
static inline void
plh_otel_memory_allocated(const void *pointer, Size size, PlhDraw draw)
{
	if (unlikely(plh_otel_memory_alloc_listeners != 0))
		plh_otel_memory_tell_alloc(pointer, size, draw);
}

/* A sample was subtracted, whoever has heard of it. */
static inline void
plh_otel_memory_freed(const void *pointer)
{
	if (unlikely(plh_otel_memory_free_listeners != 0))
		plh_otel_memory_tell_free(pointer);
}
