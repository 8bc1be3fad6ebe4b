/*
 * compiled_code.c
 *	  How to get from a frame of code that was compiled at run time (JIT) to its caller.
 *
 * This code runs inside palloc.
 *
 * LLVM makes tables for unwinding, too, and registers them with libgcc, whose search takes a lock
 * and allocates.  So we look for them ourselves: they lie in anonymous memory that can only be
 * read, as /proc/self/maps tells.
 *
 * What was compiled goes with its query, and something else may lie there the next moment.  So
 * nothing is kept of a function but where its FDE was: that is copied anew for each frame, by a
 * system call that fails where no memory is, and must still be one of code that has the address.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/own_memory.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "base/whole_io.h"
#include "stack/compiled_code.h"

#if PLH_HAVE_UNWIND_RULES

/* Memory of more bytes than this is not searched, nor longer entries used. */
#define MAX_SEARCHED_BYTES ((Size) 1024 * 1024)
#define MAX_ENTRY_BYTES 2048

/* A search gives up when it has read this much of memory, or of /proc/self/maps. */
#define MAX_SEARCH_BYTES ((Size) 4 * 1024 * 1024)
#define MAX_MAPS_BYTES ((Size) 1024 * 1024)

/* A CIE of LLVM, behind the length: its id of 0, its version, and "zR". */
static const uint8 cie_start[] = {0, 0, 0, 0, 1, 'z', 'R', 0};

#define LENGTH_BYTES ((Size) sizeof(uint32))

/* A function that was found: where its entries are in the memory of this process. */
typedef struct FoundFunction
{
	PlhCodeRange code;
	uintptr_t	fde;
	uintptr_t	cie;
	uint32		fde_bytes;
	uint32		cie_bytes;
} FoundFunction;

/* A new one takes the place of the oldest. */
#define MAX_FOUND 256
static PLH_SAME_IN_CHILD PLH_LARGE FoundFunction found_functions[MAX_FOUND];
static PLH_SAME_IN_CHILD int next_found;

/* Where something was found the last times: a query's tables lie together. */
#define PLACES 4
static PLH_SAME_IN_CHILD PlhCodeRange places[PLACES];
static PLH_SAME_IN_CHILD int next_place;

/*
 * Other compilers may leave no tables, or hide them.  After a search in vain, twice as many frames
 * as after the one before are not searched for.
 */
#define MAX_SKIPPED 1024
static PLH_SAME_IN_CHILD int searches_skipped;
static PLH_SAME_IN_CHILD int searches_to_skip;

/* What is searched is copied here. */
static PLH_SAME_IN_CHILD PlhRegion copied;
static PLH_SAME_IN_CHILD Size searched_bytes;

/* The whole size of the entry of a table that begins there; 0: it has no room. */
static Size
entry_bytes(const uint8 *at, const uint8 *end)
{
	uint32		bytes;

	if (end - at < (ptrdiff_t) (2 * LENGTH_BYTES))
		return 0;
	memcpy(&bytes, at, sizeof(bytes));
	if (bytes < LENGTH_BYTES || bytes > (Size) (end - at) - LENGTH_BYTES ||
		bytes > MAX_ENTRY_BYTES - LENGTH_BYTES)
		return 0;
	return LENGTH_BYTES + bytes;
}

static bool
is_cie(const uint8 *entry, Size bytes)
{
	return bytes >= LENGTH_BYTES + sizeof(cie_start) &&
		memcmp(entry + LENGTH_BYTES, cie_start, sizeof(cie_start)) == 0;
}

/*
 * Look through a table, which begins with that CIE, in memory that was copied from "displacement"
 * bytes further on.  Returns where the FDE that was found is, or else where the table ends.
 */
static const uint8 *
search_table(const uint8 *cie, const uint8 *end, intptr_t displacement,
			 uintptr_t target, FoundFunction *found)
{
	Size		cie_bytes = entry_bytes(cie, end);
	const uint8 *at = cie + cie_bytes;
	Size		bytes;

	for (; (bytes = entry_bytes(at, end)) != 0 && !is_cie(at, bytes); at += bytes)
	{
		PlhFrameTables tables = {at, cie, displacement};

		if (plh_call_frame_info_cie(at) == cie &&
			plh_call_frame_info_range(&tables, &found->code) &&
			plh_code_range_has(&found->code, target))
		{
			found->fde = (uintptr_t) at + displacement;
			found->cie = (uintptr_t) cie + displacement;
			found->fde_bytes = bytes;
			found->cie_bytes = cie_bytes;
			break;
		}
	}
	return at;
}

/* Look through memory for the FDE of code that has an address. */
static bool
search_memory(uintptr_t start, uintptr_t end, uintptr_t target, FoundFunction *found)
{
	Size		bytes = end - start;
	const uint8 *at;
	const uint8 *copied_end;

	if (bytes > MAX_SEARCHED_BYTES ||
		searched_bytes + bytes > MAX_SEARCH_BYTES ||
		!plh_private_memory_reserve(&copied, MAX_SEARCHED_BYTES) ||
		!plh_private_memory_commit(&copied, bytes) ||
		!plh_own_memory_copy(copied.base, (const void *) start, bytes))
		return false;
	searched_bytes += bytes;
	at = (const uint8 *) copied.base;
	copied_end = at + bytes;
	while (found->fde == 0 && at < copied_end)
	{
		if (is_cie(at, entry_bytes(at, copied_end)))
			at = search_table(at, copied_end, start - (uintptr_t) copied.base, target, found);
		else
			at += LENGTH_BYTES;
	}
	return found->fde != 0;
}

/*
 * Is that line of /proc/self/maps one of anonymous memory which can only be read?  Such a line has
 * no name behind the inode, which is 0.
 */
static bool
read_mapping(const char *line, uintptr_t *start, uintptr_t *end)
{
	static const char anonymous[] = " r--p 00000000 00:00 0";
	char	   *rest;

	*start = strtoull(line, &rest, 16);
	if (*rest == '-')
		rest++;
	*end = strtoull(rest, &rest, 16);
	if (strncmp(rest, anonymous, sizeof(anonymous) - 1) != 0)
		return false;
	rest += sizeof(anonymous) - 1;
	return rest[strspn(rest, " ")] == '\0';
}

/* Look through a text of whole lines of /proc/self/maps, which ends with '\0'. */
static bool
search_mappings(char *text, uintptr_t target, FoundFunction *found)
{
	char	   *line_end;

	for (; (line_end = strchr(text, '\n')) != NULL; text = line_end + 1)
	{
		uintptr_t	start;
		uintptr_t	end;

		*line_end = '\0';
		if (read_mapping(text, &start, &end) && search_memory(start, end, target, found))
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

static bool
search_maps(uintptr_t target, FoundFunction *found)
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
	return found->fde != 0;
}

static pg_noinline bool
search(uintptr_t target, FoundFunction *found)
{
	memset(found, 0, sizeof(*found));
	searched_bytes = 0;
	for (int i = 0; i < PLACES; i++)
		if (places[i].start != 0 && search_memory(places[i].start, places[i].end, target, found))
			return true;
	return search_maps(target, found);
}

/* Make a rule by an FDE, if it still is where it was. */
static bool
read_found(const FoundFunction *found, uintptr_t target, PlhUnwindRule *rule)
{
	uint8		copy[2 * MAX_ENTRY_BYTES];
	uint8	   *cie = copy + found->fde_bytes;
	PlhFrameTables tables = {
		copy, cie, found->fde - (uintptr_t) copy
	};
	PlhCodeRange code;

	if (!plh_own_memory_copy(copy, (const void *) found->fde, found->fde_bytes) ||
		!plh_own_memory_copy(cie, (const void *) found->cie, found->cie_bytes) ||
		entry_bytes(copy, cie) != found->fde_bytes ||
		!is_cie(cie, entry_bytes(cie, cie + found->cie_bytes)) ||
		(uintptr_t) plh_call_frame_info_cie(copy) +
		tables.displacement != found->cie ||
		!plh_call_frame_info_range(&tables, &code) ||
		!plh_code_range_has(&code, target))
		return false;
	plh_call_frame_info_rule(&tables, target, rule);
	return rule->kind != PLH_RULE_UNSUPPORTED;
}

/* Returns what was found of code that has an address, if that still is the case. */
static bool
find_again(uintptr_t target, PlhUnwindRule *rule)
{
	for (int i = 0; i < MAX_FOUND; i++)
	{
		if (plh_code_range_has(&found_functions[i].code, target))
		{
			if (read_found(&found_functions[i], target, rule))
				return true;
			memset(&found_functions[i], 0, sizeof(found_functions[i]));
		}
	}
	return false;
}

/*
 * Make the rule of a return address that lies in no module.  Returns false if it is not in code
 * that was compiled with tables for unwinding.
 */
bool
plh_compiled_code_rule(uintptr_t return_address, PlhUnwindRule *rule)
{
	uintptr_t	target = return_address - 1;
	FoundFunction found;

	memset(rule, 0, sizeof(*rule));
	rule->address = return_address;
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
	found_functions[next_found] = found;
	next_found = (next_found + 1) % MAX_FOUND;
	return true;
}

#else

bool
plh_compiled_code_rule(uintptr_t return_address, PlhUnwindRule *rule)
{
	return false;
}

#endif							/* PLH_HAVE_UNWIND_RULES */
