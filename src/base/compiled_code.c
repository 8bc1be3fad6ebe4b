/*
 * compiled_code.c
 *	  How to get from a frame of code that was compiled at run time (JIT) to its
 *	  caller.
 *
 * This code runs inside palloc.
 *
 * LLVM makes tables for unwinding, too, and registers them with libgcc, whose search
 * takes a lock and allocates.  So we look for them ourselves: they lie in anonymous
 * memory that can only be read, as /proc/self/maps tells.
 *
 * What was compiled goes with its query, and something else may lie there the next
 * moment.  So nothing is kept of a function but where its description was: that is
 * copied anew for each frame, by a system call that fails where no memory is, and
 * must still be one of code that has the address.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/compiled_code.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "base/whole_io.h"

#if PLH_HAVE_UNWIND_RULES

/* Memory of more bytes than this is not searched, nor longer descriptions used. */
#define MAX_SEARCHED_BYTES ((Size) 1024 * 1024)
#define MAX_DESCRIPTION_BYTES 2048

/* A search gives up after so many bytes of memory, and of /proc/self/maps. */
#define MAX_SEARCH_BYTES ((Size) 4 * 1024 * 1024)
#define MAX_MAPS_BYTES ((Size) 1024 * 1024)

/* A CIE as LLVM's begin, behind the length: its mark, its version, and "zR". */
static const uint8 common_start[] = {0, 0, 0, 0, 1, 'z', 'R', 0};

#define LENGTH_BYTES ((Size) sizeof(uint32))

/* A description that was found, in the memory of this process. */
typedef struct Found
{
	PlhCodeRange code;
	uintptr_t	function;		/* FDE */
	uintptr_t	common;			/* CIE */
	uint32		function_bytes;
	uint32		common_bytes;
} Found;

/* A new one takes the place of the oldest. */
#define FOUND 256
static PLH_LARGE Found founds[FOUND];
static int	next_found;

/* Where something was found the last times: a query's tables lie together. */
#define PLACES 4
static PlhCodeRange places[PLACES];
static int	next_place;

/* May this process copy its own memory?  Some sandboxes forbid that. */
static bool may_copy;

/*
 * Other compilers may leave no tables, or hide them.  After a search in vain, twice
 * as many frames as after the one before are not searched for.
 */
#define MAX_SKIPPED 1024
static int	searches_skipped;
static int	searches_to_skip;

/* What is searched is copied here. */
static PlhRegion copied;
static Size searched_bytes;

/* Copy memory of this process.  Returns false if it is not all there. */
static bool
copy_memory(void *to, uintptr_t from, Size bytes)
{
	struct iovec local = {.iov_base = to,.iov_len = bytes};
	struct iovec remote = {.iov_base = (void *) from,.iov_len = bytes};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
		(ssize_t) bytes;
}

/* The whole size of the entry of a table that begins there; 0: it has no room. */
static Size
entry_bytes(const uint8 *at, const uint8 *end)
{
	uint32		bytes;

	if (end - at < (ptrdiff_t) (2 * LENGTH_BYTES))
		return 0;
	memcpy(&bytes, at, sizeof(bytes));
	if (bytes < LENGTH_BYTES || bytes > (Size) (end - at) - LENGTH_BYTES ||
		bytes > MAX_DESCRIPTION_BYTES - LENGTH_BYTES)
		return 0;
	return LENGTH_BYTES + bytes;
}

static bool
is_common(const uint8 *entry, Size bytes)
{
	return bytes >= LENGTH_BYTES + sizeof(common_start) &&
		memcmp(entry + LENGTH_BYTES, common_start, sizeof(common_start)) == 0;
}

/*
 * Look through a table, which begins with that CIE, in memory that was copied from
 * "displacement" bytes further on.  Returns where the description that was found
 * is, or else where the table ends.
 */
static const uint8 *
search_table(const uint8 *common, const uint8 *end, intptr_t displacement,
			 uintptr_t target, Found *found)
{
	Size		common_bytes = entry_bytes(common, end);
	const uint8 *at = common + common_bytes;
	Size		bytes;

	for (; (bytes = entry_bytes(at, end)) != 0 && !is_common(at, bytes); at += bytes)
	{
		PlhFrameDescription description = {at, common, displacement};

		if (plh_call_frame_info_common(at) == common &&
			plh_call_frame_info_range(&description, &found->code) &&
			target >= found->code.start && target < found->code.end)
		{
			found->function = (uintptr_t) at + displacement;
			found->common = (uintptr_t) common + displacement;
			found->function_bytes = bytes;
			found->common_bytes = common_bytes;
			break;
		}
	}
	return at;
}

/* Look through memory for the description of code that has an address. */
static bool
search_memory(uintptr_t start, uintptr_t end, uintptr_t target, Found *found)
{
	Size		bytes = end - start;
	const uint8 *at;
	const uint8 *copied_end;

	if (bytes > MAX_SEARCHED_BYTES ||
		searched_bytes + bytes > MAX_SEARCH_BYTES ||
		!plh_private_memory_reserve(&copied, MAX_SEARCHED_BYTES) ||
		!plh_private_memory_commit(&copied, bytes) ||
		!copy_memory(copied.base, start, bytes))
		return false;
	searched_bytes += bytes;
	at = (const uint8 *) copied.base;
	copied_end = at + bytes;
	while (found->function == 0 && at < copied_end)
	{
		if (is_common(at, entry_bytes(at, copied_end)))
			at = search_table(at, copied_end, start - (uintptr_t) copied.base,
							  target, found);
		else
			at += LENGTH_BYTES;
	}
	return found->function != 0;
}

/* Read a number of a line of /proc/self/maps, and what separates it from the next. */
static uintptr_t
read_hexadecimal(const char **at)
{
	uintptr_t	value = 0;

	for (;; (*at)++)
	{
		char		c = **at;

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (c - 'a' + 10);
		else
			break;
	}
	if (**at != '\0')
		(*at)++;
	return value;
}

/*
 * Is that line of /proc/self/maps one of anonymous memory which can only be read?
 * Such a line has no name behind the inode, which is 0.
 */
static bool
read_mapping(const char *line, uintptr_t *start, uintptr_t *end)
{
	static const char anonymous[] = "r--p 00000000 00:00 0";

	*start = read_hexadecimal(&line);
	*end = read_hexadecimal(&line);
	if (strncmp(line, anonymous, sizeof(anonymous) - 1) != 0)
		return false;
	line += sizeof(anonymous) - 1;
	return line[strspn(line, " ")] == '\0';
}

/* Look through a text of whole lines of /proc/self/maps, which ends with '\0'. */
static bool
search_mappings(char *text, uintptr_t target, Found *found)
{
	char	   *line_end;

	for (; (line_end = strchr(text, '\n')) != NULL; text = line_end + 1)
	{
		uintptr_t	start;
		uintptr_t	end;

		*line_end = '\0';
		if (read_mapping(text, &start, &end) &&
			search_memory(start, end, target, found))
		{
			places[next_place] = (PlhCodeRange)
			{
				start, end
			};
			next_place = (next_place + 1) % PLACES;
			return true;
		}
	}
	return false;
}

/* Look through all mappings. */
static bool
search_maps(uintptr_t target, Found *found)
{
	char		text[8192];
	Size		kept = 0;		/* of the text: the start of a line */
	Size		read_bytes = 0;
	ssize_t		length;
	int			fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while (read_bytes < MAX_MAPS_BYTES &&
		   (length = plh_whole_io_read(fd, text + kept, sizeof(text) - 1 - kept,
									   PLH_FILE_POSITION)) > 0)
	{
		char	   *rest;
		char		cut;

		read_bytes += length;
		length += kept;
		text[length] = '\0';
		rest = strrchr(text, '\n');
		if (rest == NULL)
			break;				/* no name of a file is so long */
		rest++;
		cut = *rest;
		*rest = '\0';
		if (search_mappings(text, target, found))
			break;
		*rest = cut;
		kept = text + length - rest;
		memmove(text, rest, kept);
	}
	close(fd);
	return found->function != 0;
}

/* Look for the description of code that has an address, wherever it is. */
static pg_noinline bool
search(uintptr_t target, Found *found)
{
	memset(found, 0, sizeof(*found));
	searched_bytes = 0;
	for (int i = 0; i < PLACES; i++)
	{
		if (places[i].start != 0 &&
			search_memory(places[i].start, places[i].end, target, found))
			return true;
	}
	return search_maps(target, found);
}

/* Make a rule by a description, if it still is where it was. */
static bool
read_found(const Found *found, uintptr_t target, PlhUnwindRule *rule)
{
	uint8		copy[2 * MAX_DESCRIPTION_BYTES];
	uint8	   *common = copy + found->function_bytes;
	PlhFrameDescription description = {
		copy, common, found->function - (uintptr_t) copy
	};
	PlhCodeRange code;

	if (!copy_memory(copy, found->function, found->function_bytes) ||
		!copy_memory(common, found->common, found->common_bytes) ||
		entry_bytes(copy, common) != found->function_bytes ||
		!is_common(common, entry_bytes(common, common + found->common_bytes)) ||
		(uintptr_t) plh_call_frame_info_common(copy) +
		description.displacement != found->common ||
		!plh_call_frame_info_range(&description, &code) ||
		target < code.start || target >= code.end)
		return false;
	plh_call_frame_info_rule(&description, target, rule);
	return rule->kind != PLH_RULE_ODD;
}

/* Returns what was found of code that has an address, if that still is the case. */
static bool
find_again(uintptr_t target, PlhUnwindRule *rule)
{
	for (int i = 0; i < FOUND; i++)
	{
		if (target >= founds[i].code.start && target < founds[i].code.end)
		{
			if (read_found(&founds[i], target, rule))
				return true;
			memset(&founds[i], 0, sizeof(founds[i]));
		}
	}
	return false;
}

/*
 * Find out if this process may copy its own memory, when pg_leakhunt is loaded: a
 * sandbox that ends who tries does it now, and not in the middle of a query.
 */
void
plh_compiled_code_start(void)
{
	bool		copy;

	may_copy = copy_memory(&copy, (uintptr_t) &may_copy, sizeof(copy));
}

/*
 * Make the rule of a return address that lies in no module.  Returns false if it is
 * not in code that was compiled with tables for unwinding.
 */
bool
plh_compiled_code_rule(uintptr_t return_address, PlhUnwindRule *rule)
{
	uintptr_t	target = return_address - 1;
	Found		found;

	memset(rule, 0, sizeof(*rule));
	rule->address = return_address;
	if (!may_copy)
		return false;
	if (find_again(target, rule))
		return true;
	if (searches_skipped < searches_to_skip)
	{
		searches_skipped++;
		return false;
	}
	searches_skipped = 0;
	if (!search(target, &found) || !read_found(&found, target, rule))
	{
		searches_to_skip = Min(searches_to_skip * 2 + 1, MAX_SKIPPED);
		return false;
	}
	searches_to_skip = 0;
	founds[next_found] = found;
	next_found = (next_found + 1) % FOUND;
	return true;
}

#else

void
plh_compiled_code_start(void)
{
}

bool
plh_compiled_code_rule(uintptr_t return_address, PlhUnwindRule *rule)
{
	return false;
}

#endif							/* PLH_HAVE_UNWIND_RULES */
