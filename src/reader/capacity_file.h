/*
 * capacity_file.h
 *	  The file of capacity: where it is, and whether what it says can be.
 *
 * The keeper replaces it at each of its looks, beside the profiles.  When the server stops, it goes
 * to the directory of the dumps.  Never called inside palloc.
 */
#pragma once

#include "reader/capacity_layout.h"
#include "reader/summed_file.h"

/* At the end of a file's name: it is being written, or could not be used. */
#define PLH_CAPACITY_NEW ".new"
#define PLH_CAPACITY_DAMAGED ".damaged"

/* Whoever makes a file of that name has the keeper forget all. */
#define PLH_CAPACITY_RESET ".reset"

/* "path" has PLH_PATH_MAX bytes. */
extern void plh_capacity_file_path(char *path, const char *directory, uint64 cluster,
								   const char *suffix);

/*
 * Read one.  Returns false if there is none.  Else look at *problem, a sentence or NULL; without
 * one the record is whole, and its figures can be computed with.
 */
extern bool plh_capacity_file_read(const char *path, uint64 cluster, PlhCapacityRecord *record,
								   const char **problem);

/* Returns an errno or 0. */
extern int	plh_capacity_file_write(const char *directory, const PlhCapacityRecord *record,
									bool lasts);

/* Why can't a record of so many bytes be one?  NULL: it can. */
extern const char *plh_capacity_file_problem(const PlhCapacityRecord *record, Size bytes,
											 uint64 cluster);
