/*
 * profile_reader.h
 *	  Reads the profiles of all processes of this server, dead or alive, into images.
 *
 * A file that is not a profile of this version is passed over with a WARNING, one of another
 * cluster without; a file or directory that is missing means that there is no profile.  Only an
 * interrupt, or a lack of memory or descriptors, is an ERROR.  Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"

/*
 * Called with each image, in a memory context of its own: the image, and all that the visitor
 * allocates there, are gone when it returns.
 */
typedef void (*PlhProfileVisitor) (PlhProfileImage *image, void *arg);

/*
 * Is a profile to be read, of which there is only the header yet?  The file may be another's when
 * it is: a visitor looks again at what must not be shown.
 */
typedef bool (*PlhProfileFilter) (const PlhProfileImage *image, void *arg);

/*
 * The image belongs to the current memory context; NULL without a profile.  A file that is no
 * profile is no WARNING of plh_profile_reader_open, which says in *refused that it is one.
 */
extern PlhProfileImage *plh_profile_reader_find(const char *directory, int pid, bool header_only);
extern PlhProfileImage *plh_profile_reader_open(const char *path, bool header_only, bool *refused);

/* Is it of another cluster?  All layouts tell that in one place.  False: it can't be read. */
extern bool plh_profile_reader_is_foreign(const char *path);

/* Is a file a profile of another layout, as another version of pg_leakhunt has written it? */
extern bool plh_profile_reader_has_other_layout(const char *path);

/* Say nothing more, in this process, of files that are no profiles: sessions that look do. */
extern void plh_profile_reader_be_silent(void);

/* Let no text of a header go beyond its room. */
extern void plh_profile_reader_end_texts(PlhProfileHeader *header);

extern bool plh_profile_reader_peek(const char *path, PlhProfileHeader *header);

extern void plh_profile_reader_each(const char *directory, int pid, bool header_only,
									PlhProfileFilter wanted, PlhProfileVisitor visit, void *arg);
