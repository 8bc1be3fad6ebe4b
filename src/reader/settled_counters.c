/*
 * settled_counters.c
 *	  Counters of a profile that its owner was changing while they were read.
 *
 * The owner must not wait for readers, nor count what they could wait for at each
 * palloc.  So it numbers its changes, before the counters and behind them
 * (profile/profile_layout.h), and readers try again where the numbers differ.
 */
#include "postgres.h"

#include <errno.h>
#include <sys/uio.h>

#include "miscadmin.h"
#include "port/atomics.h"

#include "base/whole_io.h"
#include "profile/site_ages.h"
#include "reader/settled_counters.h"

/*
 * A change takes some ten nanoseconds, unless its process has to wait for a
 * processor in the middle of it.
 */
#define MAX_TRIES 200
#define TRIES_AT_ONCE 100
#define PAUSE_US 1000

/*
 * A site that was being changed while it was first copied may look as it was before: those
 * that were changed so lately are read again, too, in a process that goes on changing.
 */
#define LATELY 65536

/* What is read again of a header: all that counters are told with. */
#define COUNTERS_END (offsetof(PlhProfileHeader, peak_change) + sizeof(uint64))

static void
pause_before(int number)
{
	if (number >= TRIES_AT_ONCE)
		pg_usleep(PAUSE_US);
}

/* Are these the numbers of one change?  Owners of older versions tell none. */
static bool
is_settled(uint32 settled, uint64 last_change)
{
	return settled == 0 || settled == (uint32) last_change;
}

/*
 * Read the first "bytes" of a record at an offset: first what lies before "counters",
 * then what lies before "last_change", then the rest.  Within each part the processor
 * may read in any order.
 *
 * An x86-64 reads the parts of one call in their order.  Others need a barrier between
 * two calls, which take longer: so more changes come in between.
 */
static bool
read_in_order(int fd, void *record, Size counters, Size last_change, Size bytes,
			  off_t offset)
{
	char	   *start = record;
	struct iovec parts[] = {
		{start, counters},
		{start + counters, last_change - counters},
		{start + last_change, bytes - last_change}
	};

#ifdef __x86_64__
	ssize_t		done;

	do
		done = preadv(fd, parts, lengthof(parts), offset);
	while (done < 0 && errno == EINTR);
	return done == (ssize_t) bytes;
#else
	for (int i = 0; i < lengthof(parts); i++)
	{
		if (plh_whole_io_read(fd, parts[i].iov_base, parts[i].iov_len, offset) !=
			(ssize_t) parts[i].iov_len)
			return false;
		offset += parts[i].iov_len;
		pg_read_barrier();
	}
	return true;
#endif
}

/* Take the counters of "again", but not what tells how much of the profile is there. */
static void
take_counters(PlhProfileHeader *header, const PlhProfileHeader *again)
{
	Size		start = offsetof(PlhProfileHeader, settled);
	uint32		round = header->round;

	memcpy((char *) header + start, (const char *) again + start,
		   COUNTERS_END - start);
	header->round = round;
}

void
plh_settled_counters_read_header(int fd, PlhProfileHeader *header)
{
	PlhProfileHeader again;

	/* of the first copy nobody knows in which order it was made */
	for (int tries = 0; tries < MAX_TRIES && header->settled != 0; tries++)
	{
		pause_before(tries);
		if (!read_in_order(fd, &again, offsetof(PlhProfileHeader, counters),
						   offsetof(PlhProfileHeader, last_change),
						   COUNTERS_END, 0))
			return;
		take_counters(header, &again);
		if (is_settled(header->settled, header->last_change))
			return;
	}
}

/*
 * Read the spans of a site again, which lie within the "bytes" of a copy.  Returns NULL
 * without any: they may have been added behind the copy.
 */
static const PlhSpansRecord *
read_spans(int fd, PlhProfileHeader *header, Size bytes, uint32 offset)
{
	PlhSpansRecord *spans = (PlhSpansRecord *) ((char *) header + offset);
	PlhSpansRecord again;

	if (offset < sizeof(PlhProfileHeader) || offset % 8 != 0 ||
		offset + sizeof(again) > bytes ||
		plh_whole_io_read(fd, &again, sizeof(again), offset) != (ssize_t) sizeof(again) ||
		again.record.kind != PLH_RECORD_SPANS ||
		again.record.bytes != spans->record.bytes)
		return NULL;
	*spans = again;
	return spans;
}

/*
 * Read a site again, at that offset of the file, until it is settled.  Its spans lie
 * behind last_change, and in another record.  They are only known to be of the same
 * change as they add up.
 */
static void
settle_site(int fd, PlhProfileHeader *header, Size bytes, Size offset)
{
	PlhSiteRecord *site = (PlhSiteRecord *) ((char *) header + offset);
	PlhSiteRecord again;

	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		pause_before(tries);

		/* of another size, it is another record, of a later round */
		if (!read_in_order(fd, &again, offsetof(PlhSiteRecord, counters),
						   offsetof(PlhSiteRecord, last_change),
						   sizeof(again), offset) ||
			again.record.bytes != site->record.bytes)
			return;
		*site = again;
		if (site->record.kind != PLH_RECORD_SITE ||
			(is_settled(site->record.references, site->last_change) &&
			 plh_site_ages_add_up(site, read_spans(fd, header, bytes, site->spans))))
			return;
	}
}

/* May a site have been copied in the middle of a change, the last before being "since"? */
static bool
is_doubtful(const PlhSiteRecord *site, uint64 since)
{
	return site->record.references != 0 &&
		(site->last_change >= since ||
		 !is_settled(site->record.references, site->last_change));
}

/* Has the profile headers and sites as we know them? */
static bool
is_of_this_version(const PlhProfileHeader *header)
{
	return header->layout_version == PLH_LAYOUT_VERSION &&
		header->header_bytes == sizeof(PlhProfileHeader) &&
		header->record_bytes[PLH_RECORD_SITE] == sizeof(PlhSiteRecord);
}

void
plh_settled_counters_read_sites(int fd, PlhProfileHeader *header, Size bytes,
								uint64 since)
{
	Size		offset = MAXALIGN(sizeof(PlhProfileHeader));

	if (!is_of_this_version(header))
		return;
	if (header->last_change != since)
		since -= Min(since, LATELY);
	while (offset + sizeof(PlhRecord) <= bytes)
	{
		PlhRecord  *record = (PlhRecord *) ((char *) header + offset);
		Size		record_bytes = record->bytes;

		if (record_bytes < sizeof(PlhRecord) || record_bytes % 8 != 0 ||
			record_bytes > bytes - offset)
			return;
		if (record->kind == PLH_RECORD_SITE &&
			record_bytes >= sizeof(PlhSiteRecord) &&
			is_doubtful((PlhSiteRecord *) record, since))
			settle_site(fd, header, bytes, offset);
		offset += record_bytes;
	}
}
