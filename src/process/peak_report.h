/*
 * peak_report.h
 *	  Says in the server's log what a process held when it held most.
 */
#ifndef PLH_PEAK_REPORT_H
#define PLH_PEAK_REPORT_H

#include "profile/profile_image.h"

extern void plh_peak_report(const PlhProfileImage *image);

#endif							/* PLH_PEAK_REPORT_H */
