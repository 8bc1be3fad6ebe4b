/*
 * profile_reader.h
 *	  Reading profiles, of this process or of any other, dead or alive.
 *
 * All outputs start from a PlhProfileImage.  Whatever is in a file, the
 * functions here never read outside of it; what does not make sense is left
 * out.  Never called inside palloc.
 *
 * Functions that take an image and an offset return NULL for 0 and for an
 * offset that leads nowhere.
 */
#ifndef PLH_PROFILE_READER_H
#define PLH_PROFILE_READER_H

#include "profile/profile_layout.h"

/* Modules that an image gives access to. */
#define PLH_IMAGE_MODULES 1024

typedef struct PlhProfileImage
{
	const PlhProfileHeader *header;
	Size		bytes;			/* of header and records that can be read */
	bool		alive;			/* the owner is running */
	char		path[MAXPGPATH];	/* of the file; empty for our own memory */
	uint32		modules[PLH_IMAGE_MODULES]; /* offsets by index; 0 = none */
	const struct PlhSymbolTable *symbols;	/* that came with it, or NULL */
} PlhProfileImage;

typedef void (*PlhProfileVisitor) (PlhProfileImage *image, void *arg);

extern PlhProfileImage *plh_profile_reader_own(const PlhProfileHeader *header);
extern void plh_profile_reader_adopt(PlhProfileImage *image,
									 PlhProfileHeader *header);
extern PlhProfileImage *plh_profile_reader_find(const char *directory, int pid);
extern void plh_profile_reader_each(const char *directory, int pid,
									bool header_only,
									PlhProfileVisitor visit, void *arg);

extern const PlhSiteRecord *plh_profile_reader_next_site(const PlhProfileImage *image,
														 uint32 *position);
extern const char *plh_profile_reader_backend_type(const PlhProfileImage *image);
extern uint32 plh_profile_reader_offset(const PlhProfileImage *image,
										const void *record);
extern int64 plh_profile_reader_peak_bytes(const PlhProfileImage *image,
										   const PlhSiteRecord *site);
extern const PlhContextRecord *plh_profile_reader_next_context(const PlhProfileImage *image,
															   uint32 *position);
extern int64 plh_profile_reader_lost_samples(const PlhProfileHeader *header);
extern const PlhStackRecord *plh_profile_reader_stack(const PlhProfileImage *image,
													  uint32 offset);
extern const PlhStatementRecord *plh_profile_reader_statement(const PlhProfileImage *image,
															  uint32 offset);
extern const PlhModuleRecord *plh_profile_reader_module(const PlhProfileImage *image,
														uint32 index);
extern const PlhStringRecord *plh_profile_reader_string(const PlhProfileImage *image,
														uint32 offset);

#endif							/* PLH_PROFILE_READER_H */
