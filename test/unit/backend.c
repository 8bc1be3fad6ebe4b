/*
 * backend.c
 *	  Errors, files, tables and encodings for tests of readers.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "catalog/namespace.h"
#include "commands/dbcommands.h"
#include "common/hashfn.h"
#include "lib/binaryheap.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "backend.h"
#include "base/clock.h"

sigjmp_buf *PG_exception_stack;
ErrorContextCallback *error_context_stack;
volatile sig_atomic_t InterruptPending;
int			open_files;
int			database_encoding = PG_UTF8;
Oid			MyDatabaseId = 5;

void		(*logged) (const char *message, const char *detail, const char *hint);

static int	thrown_level;
static int	thrown_sqlstate;

/* Its texts. */
static struct
{
	char		message[4096];
	char		detail[16384];
	char		hint[8192];
}			thrown;

void
ProcessInterrupts(void)
{
}

/* The stack of the call that may throw; like the server's own, it has a limit. */
#define MAX_STACK_BYTES (2 * 1024 * 1024)
static const char *stack_base;

void
check_stack_depth(void)
{
	if (stack_base != NULL &&
		stack_base - (const char *) __builtin_frame_address(0) > MAX_STACK_BYTES)
		ereport(ERROR, (errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
						errmsg("stack depth limit exceeded")));
}

bool
errstart(int level, const char *domain)
{
	thrown_level = level;
	thrown_sqlstate = ERRCODE_INTERNAL_ERROR;
	thrown.message[0] = thrown.detail[0] = thrown.hint[0] = '\0';
	return level >= WARNING ||
		(logged != NULL && (level == LOG || level == LOG_SERVER_ONLY));
}

bool
errstart_cold(int level, const char *domain)
{
	return errstart(level, domain);
}

/* What is not caught is a bug of the test.  Who has a log sees what is no ERROR. */
void
errfinish(const char *file, int line, const char *function)
{
	if (thrown_level < ERROR)
	{
		if (logged != NULL)
			logged(thrown.message, thrown.detail, thrown.hint);
		return;
	}
	if (PG_exception_stack == NULL)
		abort();
	siglongjmp(*PG_exception_stack, 1);
}

void
pg_re_throw(void)
{
	siglongjmp(*PG_exception_stack, 1);
}

int
errcode(int sqlstate)
{
	return thrown_sqlstate = sqlstate;
}

int
errcode_for_file_access(void)
{
	return errcode(ERRCODE_IO_ERROR);
}

/* The texts are made, so that what goes into them is read. */
#define DEFINE_TEXT_FUNCTION(name, text) \
int \
name(const char *format,...) \
{ \
	va_list		args; \
\
	va_start(args, format); \
	vsnprintf(thrown.text, sizeof(thrown.text), format, args); \
	va_end(args); \
	return 0; \
}

DEFINE_TEXT_FUNCTION(errmsg, message)
DEFINE_TEXT_FUNCTION(errmsg_internal, message)
DEFINE_TEXT_FUNCTION(errdetail, detail)
DEFINE_TEXT_FUNCTION(errdetail_internal, detail)
DEFINE_TEXT_FUNCTION(errhint, hint)

int
errhidestmt(bool hides)
{
	return 0;
}

/*
 * Call a function; returns the SQLSTATE of the ERROR that it ends in, or 0.
 */
int
sqlstate_of(MayThrow function, void *arg)
{
	sigjmp_buf *outer = PG_exception_stack;
	sigjmp_buf	here;
	volatile bool returned = false;

	if (outer == NULL)
		stack_base = __builtin_frame_address(0);
	if (sigsetjmp(here, 0) == 0)
	{
		PG_exception_stack = &here;
		function(arg);
		returned = true;
	}
	PG_exception_stack = outer;
	return returned ? 0 : thrown_sqlstate;
}

int
OpenTransientFile(const char *path, int flags)
{
	int			fd = open(path, flags, S_IRUSR | S_IWUSR);

	open_files += fd >= 0;
	return fd;
}

int
CloseTransientFile(int fd)
{
	open_files--;
	return close(fd);
}

DIR *
AllocateDir(const char *name)
{
	return opendir(name);
}

struct dirent *
ReadDirExtended(DIR *dir, const char *name, int level)
{
	return dir == NULL ? NULL : readdir(dir);
}

int
FreeDir(DIR *dir)
{
	return dir == NULL ? 0 : closedir(dir);
}

int
GetDatabaseEncoding(void)
{
	return database_encoding;
}

int
pg_database_encoding_max_length(void)
{
	return pg_encoding_max_length(database_encoding);
}

bool
pg_verifymbstr(const char *text, int bytes, bool no_error)
{
	return pg_encoding_verifymbstr(database_encoding, text, bytes) == bytes;
}

/* As the server writes it where the time zone is that of Greenwich. */
const char *
timestamptz_to_str(TimestampTz time)
{
	static char text[64];
	time_t		seconds = (time + PLH_UNIX_EPOCH_US) / USECS_PER_SEC;
	struct tm	fields = {0};

	(void) gmtime_r(&seconds, &fields);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S+00", &fields);
	return text;
}

/* There are no conversions. */
Oid
FindDefaultConversionProc(int32 from, int32 to)
{
	return InvalidOid;
}

int
pg_do_encoding_conversion_buf(Oid procedure, int from, int to,
							  unsigned char *source, int source_bytes,
							  unsigned char *target, int target_bytes,
							  bool no_error)
{
	return 0;
}

/* The bytes of the whole characters up to a limit, of a text of UTF-8. */
int
pg_encoding_mbcliplen(int encoding, const char *text, int bytes, int limit)
{
	int			clipped = Min(bytes, limit);

	while (clipped > 0 && clipped < bytes && ((unsigned char) text[clipped] & 0xC0) == 0x80)
		clipped--;
	return clipped;
}

/* A program may have its own. */
__attribute__((weak))
int
pg_mbcliplen(const char *text, int bytes, int limit)
{
	return pg_encoding_mbcliplen(PG_UTF8, text, bytes, limit);
}

uint64
hex_encode(const char *source, size_t bytes, char *target)
{
	for (size_t i = 0; i < bytes; i++)
		sprintf(target + 2 * i, "%02x", (unsigned char) source[i]);
	return 2 * bytes;
}

#define BUCKETS 64

/* An entry, and behind it what the table's user has there: the key first. */
typedef struct TableEntry
{
	struct TableEntry *next;
	char		user[FLEXIBLE_ARRAY_MEMBER];
} TableEntry;

struct HTAB
{
	Size		key_bytes;
	Size		entry_bytes;
	MemoryContext memory;
	long		entries;
	TableEntry *buckets[BUCKETS];
};

HTAB *
hash_create(const char *name, long elements, const HASHCTL *info, int flags)
{
	MemoryContext memory = flags & HASH_CONTEXT ? info->hcxt : CurrentMemoryContext;
	HTAB	   *table = MemoryContextAllocZero(memory, sizeof(HTAB));

	table->key_bytes = info->keysize;
	table->entry_bytes = info->entrysize;
	table->memory = memory;
	return table;
}

void *
hash_search(HTAB *table, const void *key, HASHACTION action, bool *found)
{
	TableEntry **bucket = &table->buckets[hash_bytes(key, table->key_bytes) %
										  BUCKETS];
	TableEntry *entry = *bucket;

	while (entry != NULL && memcmp(entry->user, key, table->key_bytes) != 0)
		entry = entry->next;
	if (found != NULL)
		*found = entry != NULL;
	if (entry == NULL && action == HASH_ENTER)
	{
		entry = MemoryContextAlloc(table->memory, offsetof(TableEntry, user) +
								   table->entry_bytes);
		memcpy(entry->user, key, table->key_bytes);
		entry->next = *bucket;
		*bucket = entry;
		table->entries++;
	}
	return entry != NULL ? entry->user : NULL;
}

long
hash_get_num_entries(HTAB *table)
{
	return table->entries;
}

/* The next entry is kept where the server's own keeps it. */
void
hash_seq_init(HASH_SEQ_STATUS *status, HTAB *table)
{
	status->hashp = table;
	status->curBucket = 0;
	status->curEntry = (HASHELEMENT *) table->buckets[0];
}

void *
hash_seq_search(HASH_SEQ_STATUS *status)
{
	TableEntry *entry = (TableEntry *) status->curEntry;

	while (entry == NULL && ++status->curBucket < BUCKETS)
		entry = status->hashp->buckets[status->curBucket];
	if (entry == NULL)
		return NULL;
	status->curEntry = (HASHELEMENT *) entry->next;
	return entry->user;
}

/* There is no catalog, but names may be known. */
const char *known_database;
const char *known_role;

char *
get_database_name(Oid database)
{
	return known_database == NULL ? NULL : pstrdup(known_database);
}

char *
GetUserNameFromId(Oid role, bool missing_ok)
{
	return known_role == NULL ? NULL : pstrdup(known_role);
}

/* A heap that is none: the first is looked for among all. */
binaryheap *
binaryheap_allocate(int capacity, binaryheap_comparator compare, void *arg)
{
	binaryheap *heap = palloc(offsetof(binaryheap, bh_nodes) +
							  sizeof(heap->bh_nodes[0]) * capacity);

	heap->bh_size = 0;
	heap->bh_space = capacity;
	heap->bh_compare = compare;
	heap->bh_arg = arg;
	return heap;
}

void
binaryheap_add(binaryheap *heap, Datum datum)
{
	if (heap->bh_size >= heap->bh_space)
		elog(ERROR, "out of binary heap slots");
	heap->bh_nodes[heap->bh_size++] = datum;
}

Datum
binaryheap_remove_first(binaryheap *heap)
{
	int			first = 0;
	Datum		datum;

	for (int i = 1; i < heap->bh_size; i++)
		if (heap->bh_compare(heap->bh_nodes[i], heap->bh_nodes[first],
							 heap->bh_arg) > 0)
			first = i;
	datum = heap->bh_nodes[first];
	heap->bh_nodes[first] = heap->bh_nodes[--heap->bh_size];
	return datum;
}

void
binaryheap_free(binaryheap *heap)
{
	pfree(heap);
}
