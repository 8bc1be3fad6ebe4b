/*
 * fuzz_dump.c
 *	  A dump file with anything in it: read, or refused by an ERROR that is
 *	  documented, and what was read used as a profile is.
 *
 * An input is a file without the history in the header of its profile, which
 * would be most of it.  Its size, checksum and layout become right, or hardly any
 * changed file would come through: that those are looked at is tested in
 * test/unit.
 */
#include "postgres.h"

#include "dump_file.h"
#include "fuzz.h"
#include "profile/dump_layout.h"
#include "profile_input.h"

/* What is done with an input. */
typedef struct Use
{
	Text		text;
	bool		header_only;
	bool		drawn;
} Use;

/* Palloc the file that an input stands for. */
static Text
file_of(const uint8 *data, Size bytes)
{
	Size		head = Min(bytes, INPUT_HEAD_BYTES);
	Text		text = {palloc0(bytes + INPUT_GAP_BYTES + 1), bytes};
	PlhProfileHeader *header = (PlhProfileHeader *) text.data;
	PlhDumpFoot foot;

	memcpy(text.data, data, head);
	if (bytes < INPUT_HEAD_BYTES + sizeof(PlhDumpFoot))
		return text;
	text.bytes = bytes + INPUT_GAP_BYTES;
	memcpy(text.data + head + INPUT_GAP_BYTES, data + head, bytes - head);
	memcpy(header->magic, PLH_PROFILE_MAGIC, sizeof(header->magic));
	header->layout_version = PLH_LAYOUT_VERSION;
	memcpy(&foot, text.data + text.bytes - sizeof(foot), sizeof(foot));
	foot.profile_bytes %= text.bytes;
	memcpy(text.data + text.bytes - sizeof(foot), &foot, sizeof(foot));
	mend_foot(&text);
	return text;
}

static void
use_file(void *arg)
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
	Use			use = {file_of(data, bytes)};

	if (!opened)
		open_dump_file();
	opened = true;
	set_dump_file(&use.text);
	pfree(use.text.data);
	use.drawn = fuzz_goes_far(data, bytes);
	HOLDS(fuzz_run(bytes, use_file, &use) == 0);
	use.header_only = true;
	HOLDS(fuzz_run(bytes, use_file, &use) == 0);
	return 0;
}
