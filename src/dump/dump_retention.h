/*
 * dump_retention.h
 *	  Which dump files stay: their number of each reason, and their bytes.
 *
 * Callable at exit: allocates nothing, reports nothing and never throws.
 */
#pragma once

/* Both return an errno, or 0. */
extern int	plh_dump_retention_trim(void);
extern int	plh_dump_retention_trim_sometimes(void);

extern void plh_dump_retention_remove_abandoned(void);
