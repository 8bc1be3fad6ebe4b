/*
 * profile_image.h
 *	  Bounds-checked access to a profile in memory, of this process or of any other.
 *
 * An image is a profile as a reader has it in memory, and all outputs start from one.  Whatever its
 * bytes are, these functions never read outside of the image, and skip records that make no sense.
 * They may be called inside palloc: they allocate nothing and never throw.
 *
 * Functions that take an image and an offset return NULL for 0 and for an offset without a record
 * of that kind.  Returned records live as long as the memory that the image was made of.
 */
#pragma once

#include "base/limits.h"
#include "profile/profile_layout.h"

/* An image gives access to modules with an index below this. */
#define PLH_IMAGE_MODULES PLH_ROUTINE_MODULE

typedef struct PlhProfileImage
{
	const PlhProfileHeader *header;
	Size		bytes;			/* of header and records that can be read */
	bool		alive;			/* the owner is running */
	bool		crashed;		/* the owner did not exit cleanly */
	char		path[PLH_PATH_MAX]; /* of the file; empty for our own memory */
	uint32		modules[PLH_IMAGE_MODULES]; /* offsets by index; 0: none */
	const struct PlhFrameNames *names;	/* from the dump, or NULL */
	const struct PlhProof *proof;	/* the last of the process, or NULL */
} PlhProfileImage;

/*
 * What a process has in contexts and from malloc: as it was last counted, and as samples say since.
 */
typedef struct PlhHeldBytes
{
	int64		bytes;
	int64		gained_bytes;	/* what samples have gained since the count;
								 * below 0: lost */
	int64		error_bytes;	/* 95% bound of what was gained */
} PlhHeldBytes;

extern void plh_profile_image_note_layout(PlhProfileHeader *header);
extern bool plh_profile_image_has_layout(const PlhProfileHeader *header);
extern bool plh_profile_image_is_record(const PlhRecord *record, Size room);

extern PlhProfileImage *plh_profile_image_own(const PlhProfileHeader *header);
extern void plh_profile_image_adopt(PlhProfileImage *image,
									const PlhProfileHeader *header, Size bytes);

extern const void *plh_profile_image_at(const PlhProfileImage *image,
										uint32 offset, PlhRecordKind kind);
extern const void *plh_profile_image_next(const PlhProfileImage *image,
										  PlhRecordKind kind, uint32 *position);

#define plh_profile_image_site(image, offset) \
	((const PlhSiteRecord *) plh_profile_image_at(image, offset, PLH_RECORD_SITE))
#define plh_profile_image_statement(image, offset) \
	((const PlhStatementRecord *) plh_profile_image_at(image, offset, PLH_RECORD_STATEMENT))
#define plh_profile_image_string(image, offset) \
	((const PlhStringRecord *) plh_profile_image_at(image, offset, PLH_RECORD_STRING))
#define plh_profile_image_next_site(image, position) \
	((const PlhSiteRecord *) plh_profile_image_next(image, PLH_RECORD_SITE, position))
#define plh_profile_image_next_context(image, position) \
	((const PlhContextRecord *) plh_profile_image_next(image, PLH_RECORD_CONTEXT, position))
#define plh_profile_image_context(image, offset) \
	((const PlhContextRecord *) plh_profile_image_at(image, offset, PLH_RECORD_CONTEXT))
#define plh_profile_image_next_course(image, position) \
	((const PlhCourseRecord *) plh_profile_image_next(image, PLH_RECORD_COURSE, position))
#define plh_profile_image_example(image, offset) \
	((const PlhExampleRecord *) plh_profile_image_at(image, offset, PLH_RECORD_EXAMPLE))

extern uint32 plh_profile_image_live_sites(const PlhProfileImage *image);
extern uint32 plh_profile_image_offset(const PlhProfileImage *image, const void *record);
extern const PlhStackRecord *plh_profile_image_stack(const PlhProfileImage *image, uint32 offset);
extern const PlhModuleRecord *plh_profile_image_module(const PlhProfileImage *image, uint32 index);

extern bool plh_profile_image_is_same_module(const PlhModuleRecord *left,
											 const PlhModuleRecord *right);

extern const char *plh_profile_image_backend_type(const PlhProfileImage *image);
extern int64 plh_profile_image_lost_samples(const PlhProfileHeader *header);
extern bool plh_profile_image_is_whole(const PlhProfileHeader *header);
extern int64 plh_profile_image_peak_bytes(const PlhProfileHeader *header);
extern double plh_profile_image_live_error_bytes(const PlhProfileHeader *header);
extern double plh_profile_image_surely_live_bytes(const PlhProfileHeader *header);
extern int64 plh_profile_image_counted_bytes(const PlhProfileHeader *header);
extern PlhHeldBytes plh_profile_image_held_bytes(const PlhProfileHeader *header);
extern int64 plh_profile_image_live_bound(const PlhProfileHeader *header);
extern TimestampTz plh_profile_image_ended_at(const PlhProfileHeader *header);

/* Until when it has worked, as far as counts tell; 0 without any. */
extern TimestampTz plh_profile_image_worked_at(const PlhProfileHeader *header);
extern const char *plh_profile_image_lifetime_name(uint32 lifetime);
