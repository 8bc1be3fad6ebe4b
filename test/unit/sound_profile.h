/*
 * sound_profile.h
 *	  A profile as its owner writes it, and all that readers do with one.
 */
#ifndef SOUND_PROFILE_H
#define SOUND_PROFILE_H

#include "common/pg_prng.h"

#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "report/site_list.h"

extern PlhProfileHeader *make_profile(int sites, uint64 seed);
extern PlhProfileHeader *copy_profile(const PlhProfileHeader *header,
									  Size bytes);
extern PlhBaseline *half_of_profile(const PlhProfileImage *image);
extern PlhSiteList *list_sites(const PlhProfileImage *image,
							   const PlhBaseline *baseline);
extern const char *walk_profile(const PlhProfileImage *image,
								const PlhBaseline *baseline);
extern void judge_profile(const PlhProfileImage *image,
						  const PlhBaseline *baseline);
extern void dump_profile(const PlhProfileImage *image);
extern void draw_profile(const PlhProfileImage *image,
						 const PlhBaseline *baseline);

static inline int
random_below(pg_prng_state *prng, int limit)
{
	return (int) pg_prng_uint64_range(prng, 0, limit - 1);
}

#endif							/* SOUND_PROFILE_H */
