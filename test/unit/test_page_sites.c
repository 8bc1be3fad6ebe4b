/*
 * test_page_sites.c
 *	  The tables of a page's call sites: what stacks share, which sites have rows, and
 *	  what stands for the others.
 */
#include "postgres.h"

#include "page/page_sites.h"
#include "reader_tests.h"

#define SITES 3

/* Does the JSON of those tables have that text? */
static bool
has(const PlhPageSites *sites, const char *text)
{
	StringInfoData json;
	bool		is_there;

	initStringInfo(&json);
	plh_page_sites_append(&json, sites);
	is_there = strstr(json.data, text) != NULL;
	if (!is_there)
		printf("# %s\n", json.data);
	pfree(json.data);
	return is_there;
}

static PlhFrameText
frame_of(const char *function)
{
	return (PlhFrameText)
	{
		.text = function,.function = function
	};
}

static void
test_stacks(void)
{
	PlhPageSites *sites = plh_page_sites_begin(0);
	PlhFrameText one[] = {frame_of("inner"), frame_of("f"), frame_of("main")};
	PlhFrameText other[] = {frame_of("other"), frame_of("f"), frame_of("main")};
	PlhStackText stack = {.frames = one,.frame_count = 3,.site_frame = 1,.stack_id = -5};
	PlhStackText second = {.frames = other,.frame_count = 3,.stack_id = 6};

	ok(plh_page_sites_add_stack(sites, &stack, true) == 0 &&
	   plh_page_sites_add_stack(sites, &second, false) == 1 &&
	   plh_page_sites_add_stack(sites, &stack, true) == 0, "each stack has a number");
	ok(has(sites, "\"nodes\":[1,0,1,1,1,2,2,3]"), "outer frames that stacks share are there once");
	ok(has(sites, "\"stacks\":[[3,1,\"-5\"],[4,0,null]]"), "a stack is a node, its site, and its number in all processes");
	ok(has(sites, "\"names\":[\"main\",\"\",\"f\",\"inner\",\"other\"]"), "so are names");
}

static PlhCounters counters[SITES];
static PlhSiteRecord records[SITES];
static PlhListedSite listed[SITES];
static PlhFrameText frames[SITES];

/* A site that holds nothing now, and has allocated that many bytes. */
static void
list_site(int number, const char *function, int64 total_bytes, int64 peak_bytes)
{
	PlhSiteFacts facts = {.site = &records[number],.counters = &counters[number],.peak_bytes = peak_bytes};
	PlhStackText stack = {.frames = &frames[number],.frame_count = 1};

	frames[number] = frame_of(function);
	counters[number] = (PlhCounters)
	{
		.total_bytes = total_bytes,.total_count = 1
	};
	listed[number] = (PlhListedSite)
	{
		.facts = facts,.stack = stack
	};
}

static void
test_rows(void)
{
	PlhPageSites *sites = plh_page_sites_begin(0);
	PlhSiteList list = {.count = SITES,.sites = listed};

	list_site(0, "small", 10, 1);
	list_site(1, "large", 1000, 100);
	list_site(2, "smaller", 5, 2);
	/* room for one row: the tables have brackets already */
	plh_page_sites_add_list(sites, &list, 7);
	ok(plh_page_sites_row(sites, &records[1]) == 0, "the site that matters most has the first row");
	ok(plh_page_sites_row(sites, &records[0]) == -1 && plh_page_sites_row(sites, &records[2]) == -1,
	   "those that do not fit have none");
	ok(has(sites, "\"sites_left_out\":2") && has(sites, "[2 smaller sites]"), "they are counted in a row of their own");
	ok(has(sites, "[1,null,null,null,0,0,0,0,null,null,3,15,2,0,null,null,[]]]"), "which has their sums");
}

void
test_page_sites(void)
{
	test_stacks();
	test_rows();
}
