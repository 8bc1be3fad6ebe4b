/*
 * role_filter.h
 *	  What the caller of a function may see.
 */
#ifndef PLH_ROLE_FILTER_H
#define PLH_ROLE_FILTER_H

/* May the caller see what is of that role, or of none (InvalidOid)? */
typedef bool (*PlhRoleFilter) (Oid role);

#endif							/* PLH_ROLE_FILTER_H */
