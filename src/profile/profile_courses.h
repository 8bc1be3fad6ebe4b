/*
 * profile_courses.h
 *	  What a profile's largest contexts and sites held at each point of the history.
 *
 * These functions may be called inside palloc, except in a critical section; they never palloc or
 * throw.  Callers hold the guard, and the process has a profile.
 */
#pragma once

#include "profile/profile_layout.h"

extern void plh_profile_courses_add_point(uint32 point);
extern void plh_profile_courses_keep(const uint8 *kept, int count);
extern void plh_profile_courses_forget(void);
