/*
 * fuzz.h
 *	  What all targets share: a run in bounds, and a directory for files.
 *
 * A target is a program: LLVMFuzzerTestOneInput gets bytes that anybody may
 * have written.  libFuzzer calls it to find new ones, replay.c with those of
 * the corpus.  What aborts, or a sanitizer stops, is a finding.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "backend.h"

extern int	LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes);

/* What must hold whatever the input is. */
#define HOLDS(condition) \
	((condition) ? (void) 0 : fuzz_finding(#condition))

extern void fuzz_finding(const char *what) __attribute__((noreturn));

/* Set by the program that only replays. */
extern bool fuzz_replays;

/*
 * To be increased by each input that is not refused: a corpus of which all is
 * refused, after a change of a format, tests next to nothing.
 */
extern int	fuzz_accepted;

extern bool fuzz_goes_far(const uint8 *data, size_t bytes);
extern int	fuzz_run(size_t input_bytes, MayThrow function, void *arg);

extern const char *fuzz_directory(void);
extern void fuzz_write_file(const char *path, const void *data, Size bytes);

#endif							/* FUZZ_H */
