/*
 * test_finding_keys.c
 *	  By what it is known that a finding was seen before.
 */
#include "postgres.h"

#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "watch/watched_processes.h"
#include "unit_tests.h"

/* A site of a stack, whose innermost frame all have, in a context and of a statement. */
static const PlhSiteRecord *
make_site(uint64 caller, const char *context, const char *statement)
{
	PlhStack	stack = {0};
	PlhSiteKey	key = {0};
	uint32		site;

	stack.addresses = stack.buffer;
	stack.depth = 2;
	stack.buffer[0] = 0x1001;
	stack.buffer[1] = caller;
	key.stack = plh_profile_stack(&stack);
	key.context_name = plh_profile_string(context, PLH_CONTEXT_NAME_MAX);
	key.statement = plh_profile_statement(0, statement);
	/* the image ends where the profile does when it is made */
	site = plh_profile_site(&key);
	return plh_profile_image_site(plh_profile_image_own(plh_profile), site);
}

static uint64
key_of(const PlhSiteRecord *site, PlhKind kind)
{
	PlhFinding	finding = {.kind = kind,.site = site};

	return plh_watched_processes_key(&finding, plh_profile_image_own(plh_profile));
}

void
test_finding_keys(void)
{
	const PlhSiteRecord *site;
	uint64		key;

	if (!plh_profile_begin())
		abort();
	plh_profile_counters_start();
	site = make_site(0x2001, "CacheMemoryContext", "SELECT one");
	key = key_of(site, PLH_KIND_SITE_LEAKS);
	ok(key == key_of(make_site(0x2001, "CacheMemoryContext", "SELECT two"), PLH_KIND_SITE_LEAKS),
	   "a call site is the same in another statement");
	ok(key != key_of(make_site(0x3001, "CacheMemoryContext", "SELECT one"), PLH_KIND_SITE_LEAKS),
	   "it is another one by its callers");
	ok(key != key_of(make_site(0x2001, "TopMemoryContext", "SELECT one"), PLH_KIND_SITE_LEAKS),
	   "and in other contexts");
	key = key_of(site, PLH_KIND_STATEMENT);
	ok(key == key_of(make_site(0x3001, "TopMemoryContext", "SELECT one"), PLH_KIND_STATEMENT) &&
	   key != key_of(make_site(0x2001, "CacheMemoryContext", "SELECT two"), PLH_KIND_STATEMENT),
	   "a statement is known by its text");
	ok(key_of(NULL, PLH_KIND_STATEMENT) != key_of(NULL, PLH_KIND_PROCESS_GROWS), "what is no site, by what it is about");
	plh_profile_forget();
	plh_profile_counters_forget();
}
