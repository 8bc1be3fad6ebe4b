/*
 * test_heap_texts.c
 *	  The text of a profile for jeprof and pprof: its addresses, and its figures.
 */
#include "postgres.h"

#include "dump/dump_addresses.h"
#include "dump/heap_text.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "reader/profile_builder.h"
#include "reader_tests.h"

static PlhProfileImage image;

/* A sample of a stack of two frames, of those bytes, in a context. */
static void
add_sample(uint64 caller, const char *context, Size bytes)
{
	PlhStack	stack = {0};
	PlhSiteKey	key = {0};
	PlhDraw		exact = {.interval_bytes = 1};

	stack.addresses = stack.buffer;
	stack.depth = 2;
	stack.buffer[0] = 0x1001;
	stack.buffer[1] = caller;
	key.stack = plh_profile_stack(&stack);
	key.context_name = plh_profile_string(context, PLH_CONTEXT_NAME_MAX);
	plh_profile_counters_add(plh_profile_site(&key), bytes, 0, exact);
}

/* Frames are return addresses minus one, which is added again to all but the first. */
static void
test_stacks(void)
{
	char	   *text = NULL;
	size_t		bytes;
	FILE	   *file = open_memstream(&text, &bytes);

	plh_profile_forget();
	if (file == NULL || !plh_profile_begin())
		abort();
	plh_profile_counters_start();
	add_sample(0x2001, "one", 100);
	add_sample(0x2001, "two", 30);
	add_sample(0x3001, "one", 0);
	ok(plh_heap_text_write(file, plh_profile_image_own(plh_profile), "manual", 1) == 0 && fclose(file) == 0,
	   "the text of a profile is written");
	ok(strstr(text, "heap profile: 2: 130 [2: 130] @ heapprofile\n") == text,
	   "its first line has the sums, without objects that have no bytes");
	ok(strstr(text, "\n2: 130 [2: 130] @ 0x1000 0x2001\n") != NULL,
	   "a stack has one line, in which the first address is within the call, too");
	ok(strstr(text, "\n0: 0 [0: 0] @ 0x1000 0x3001\n") != NULL, "also where it has no bytes");
	ok(strstr(text, "\n# 100 bytes +/- 0 in one (") != NULL && strstr(text, "\n# 30 bytes +/- 0 in two (") != NULL,
	   "what each site holds stands there for people");
	free(text);
	plh_profile_forget();
	plh_profile_counters_forget();
}

/* Modules of one build-id want one place, as a library and a copy of it do. */
static void
test_places(void)
{
	PlhProfileBuilder builder;
	PlhPlacement *placement = palloc(sizeof(PlhPlacement));

	plh_profile_builder_begin(&builder);
	for (uint32 i = 1; i <= 3; i++)
	{
		PlhModuleRecord *module = plh_profile_builder_record(&builder,
															 plh_profile_builder_add(&builder, PLH_RECORD_MODULE,
																					 sizeof(PlhModuleRecord) + 8));

		module->index = i;
		module->build_id_bytes = 1;
		module->build_id[0] = i == 3 ? 2 : 1;
	}
	plh_profile_builder_header(&builder)->used_bytes = builder.used_bytes;
	plh_profile_image_adopt(&image, plh_profile_builder_header(&builder), builder.used_bytes);
	plh_dump_addresses_place(placement, &image);
	ok(placement->bases[1] == plh_dump_addresses_wanted(plh_profile_image_module(&image, 1)) &&
	   placement->bases[3] == plh_dump_addresses_wanted(plh_profile_image_module(&image, 3)),
	   "a module has the address that its build-id wants");
	ok(placement->bases[2] != placement->bases[1] && placement->bases[2] != 0 &&
	   plh_dump_addresses_of(placement, PLH_FRAME(2, 0x10)) == placement->bases[2] + 0x10,
	   "unless another one has it");
	ok(plh_dump_addresses_of(placement, PLH_FRAME(7, 0x10)) == 0x10, "what is in no module keeps its address");
	pfree(placement);
}

void
test_heap_texts(void)
{
	test_stacks();
	test_places();
}
