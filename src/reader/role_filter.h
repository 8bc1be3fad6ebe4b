/*
 * role_filter.h
 *	  What the caller of a function may see.
 */
#pragma once

/* May the caller see what is of that role, or of none (InvalidOid)? */
typedef bool (*PlhRoleFilter) (Oid role);
