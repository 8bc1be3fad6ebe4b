/*
 * fuzz_dump.c
 *	  A dump file with anything in it: read, or refused by an ERROR that is
 *	  documented, and what was read used as a profile is.
 *
 * An input is a file.  Its version becomes the one that is read, so that a new
 * version does not make the corpus worthless.  A dump whose sites do not add up
 * to line 1, or which has not the size that it says, is refused at its very
 * end: that is left out here, as hardly any changed file would come through,
 * and tested in test/unit.
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/memutils.h"

#include "reader/dump_header.h"

/* What the sites add up to, and the file's size, is not looked at. */
#define plh_dump_header_check(lines, dump, sums) ((void) (sums))
#include "reader/dump_reader.c"
#undef plh_dump_header_check

#include "dump_file.h"
#include "fuzz.h"

#define VERSION_FIELD "dump_version="

/* What is done with an input. */
typedef struct Use
{
	Text		text;
	bool		header_only;
	bool		drawn;
} Use;

/* Palloc a copy with the version that is read. */
static Text
with_version(const uint8 *data, Size bytes)
{
	static const Size room = sizeof(VERSION_FIELD) + 16;
	const uint8 *field = memmem(data, bytes, VERSION_FIELD,
								strlen(VERSION_FIELD));
	Text		text = {palloc(bytes + room), 0};
	Size		start = field == NULL ? 0 : field - data;

	memcpy(text.data, data, start);
	text.bytes = start;
	if (field != NULL)
	{
		text.bytes += sprintf(text.data + start, VERSION_FIELD "%d",
							  PLH_DUMP_VERSION);
		start += strlen(VERSION_FIELD);
		while (start < bytes && data[start] >= '0' && data[start] <= '9')
			start++;
	}
	memcpy(text.data + text.bytes, data + start, bytes - start);
	text.bytes += bytes - start;
	return text;
}

static void
use_text(void *arg)
{
	Use		   *use = arg;
	Attempt		attempt = {.header_only = use->header_only};
	int			sqlstate = read_dump(&attempt);

	HOLDS(sqlstate == 0 || is_dump_error(sqlstate));
	if (sqlstate == 0 && !use->header_only)
	{
		fuzz_accepted++;
		use_dump(attempt.dump, use->drawn);
	}
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	static bool opened = false;
	Use			use = {with_version(data, bytes)};

	if (!opened)
		open_dump_file();
	opened = true;
	set_dump_file(&use.text);
	pfree(use.text.data);
	use.drawn = fuzz_goes_far(data, bytes);
	HOLDS(fuzz_run(bytes, use_text, &use) == 0);
	use.header_only = true;
	HOLDS(fuzz_run(bytes, use_text, &use) == 0);
	return 0;
}
