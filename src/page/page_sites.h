/*
 * page_sites.h
 *	  The call sites of a page, tables of what they share, and sentences on what no site shows.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "judge/account.h"
#include "report/site_list.h"

typedef struct PlhPageSites PlhPageSites;

/* Begin tables for sites whose times are counted from "origin". */
extern PlhPageSites *plh_page_sites_begin(TimestampTz origin);

/*
 * Add the sites of a list.  Those that do not fit into about "most_bytes" of JSON are one row, with
 * their sums.
 */
extern void plh_page_sites_add_list(PlhPageSites *sites, const PlhSiteList *list, Size most_bytes);

/* Add a stack by itself, and return its number. */
extern int	plh_page_sites_add_stack(PlhPageSites *sites, const PlhStackText *stack,
									 bool has_stack);

/* The row of the site with that record, from 0 on; -1: it is among those that are one. */
extern int	plh_page_sites_row(const PlhPageSites *sites, const PlhSiteRecord *site);

/* Write the tables as members of an object. */
extern void plh_page_sites_append(StringInfo json, const PlhPageSites *sites);

/* Write an array of sentences on what no call site shows. */
extern void plh_page_sites_append_unseen(StringInfo json, const PlhProfileImage *image,
										 const PlhAccount *account);
