/*
 * profile_image.h
 *	  Bounds-checked access to a profile in memory, of this process or of any
 *	  other.
 *
 * An image is a profile as a reader has it in memory, and all outputs start
 * from one.  Whatever its bytes are, these functions never read outside of the
 * image, and skip records that make no sense.  They may be called inside
 * palloc: they allocate nothing and never throw.
 *
 * Functions that take an image and an offset return NULL for 0 and for an
 * offset without a record of that kind.  Returned records live as long as the
 * memory that the image was made of.
 */
#ifndef PLH_PROFILE_IMAGE_H
#define PLH_PROFILE_IMAGE_H

#include "base/limits.h"
#include "profile/profile_layout.h"

/* An image gives access to modules with an index below this. */
#define PLH_IMAGE_MODULES 1024

typedef struct PlhProfileImage
{
	const PlhProfileHeader *header;
	Size		bytes;			/* of header and records that can be read */
	bool		alive;			/* the owner is running */
	bool		crashed;		/* the owner did not exit cleanly */
	char		path[PLH_PATH_MAX]; /* of the file; empty for our own memory */
	uint32		modules[PLH_IMAGE_MODULES]; /* offsets by index; 0: none */
	const struct PlhSymbolTable *symbols;	/* from the dump, or NULL */
} PlhProfileImage;

extern PlhProfileImage *plh_profile_image_own(const PlhProfileHeader *header);
extern void plh_profile_image_adopt(PlhProfileImage *image,
									const PlhProfileHeader *header, Size bytes);

extern const PlhSiteRecord *plh_profile_image_next_site(const PlhProfileImage *image,
														uint32 *position);
extern const PlhContextRecord *plh_profile_image_next_context(const PlhProfileImage *image,
															  uint32 *position);
extern uint32 plh_profile_image_offset(const PlhProfileImage *image,
									   const void *record);
extern const PlhSiteRecord *plh_profile_image_site(const PlhProfileImage *image,
												   uint32 offset);
extern const PlhStackRecord *plh_profile_image_stack(const PlhProfileImage *image,
													 uint32 offset);
extern const PlhStatementRecord *plh_profile_image_statement(const PlhProfileImage *image,
															 uint32 offset);
extern const PlhModuleRecord *plh_profile_image_module(const PlhProfileImage *image,
													   uint32 index);
extern const PlhStringRecord *plh_profile_image_string(const PlhProfileImage *image,
													   uint32 offset);

extern const char *plh_profile_image_backend_type(const PlhProfileImage *image);
extern int64 plh_profile_image_lost_samples(const PlhProfileHeader *header);
extern bool plh_profile_image_is_whole(const PlhProfileHeader *header);
extern int64 plh_profile_image_peak_bytes(const PlhProfileHeader *header);
extern double plh_profile_image_live_error_bytes(const PlhProfileHeader *header);
extern double plh_profile_image_surely_live_bytes(const PlhProfileHeader *header);
extern int64 plh_profile_image_counted_bytes(const PlhProfileHeader *header);
extern TimestampTz plh_profile_image_ended_at(const PlhProfileHeader *header);
extern const char *plh_profile_image_lifetime_name(uint32 lifetime);

#endif							/* PLH_PROFILE_IMAGE_H */
