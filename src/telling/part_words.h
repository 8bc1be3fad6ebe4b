/*
 * part_words.h
 *	  What the parts of a server's memory are called, and what is said of them.
 */
#pragma once

#include "datatype/timestamp.h"

#include "judge/memory_part.h"

/* The name for programs. */
extern const char *plh_part_words_name(const PlhMemoryPart *part);
extern const char *plh_part_words_title(const PlhMemoryPart *part);

/* What it is, in a sentence or two; NULL where that is plain. */
extern const char *plh_part_words_detail(const PlhMemoryPart *part, TimestampTz now);
