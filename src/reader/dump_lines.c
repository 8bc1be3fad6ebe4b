/*
 * dump_lines.c
 *	  Reads a dump line by line, and the fields in its lines.
 *
 * The file is read into memory before its lines are looked at, and closed: an
 * ERROR about a line leaves nothing open.  Files that are no dumps may be of
 * any size, so that the first characters and the size come before.
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "dump/dump_format.h"
#include "reader/database_text.h"
#include "reader/dump_lines.h"

/* A symbolized dump begins with these characters, any other with those. */
#define SYMBOL_SECTION "--- symbol"
#define HEAP_SECTION "heap profile: "

/*
 * The lines about the process, which end with "# lost_", fit into this size.
 */
#define HEADER_BYTES (16 * 1024)

/*
 * The dump of a full profile takes four times its bytes, and a symbolized one
 * twice as many: no dump is larger than LARGEST_SHARE times the profile.  Dumps
 * of other servers, whose profiles may be larger, are read up to LARGEST_BYTES.
 */
#define LARGEST_SHARE 16
#define LARGEST_BYTES ((Size) 128 * 1024 * 1024)

/* The detail about a line that begins with something else. */
#define NO_LINE_LIKE "A line that begins with \"%s\" was expected."

/* Bytes that are read between two checks for interrupts. */
#define PIECE_BYTES (1024 * 1024)

/*
 * Close a file before an ERROR about it: whoever catches the ERROR without a
 * subtransaction would leave the file open.  errno is kept.
 */
static void
close_before_error(int fd)
{
	int			saved_errno = errno;

	if (fd >= 0)
		CloseTransientFile(fd);
	errno = saved_errno;
}

/*
 * Open a dump, and get its size.  Anything but an ordinary file is an ERROR.
 * Opening must not block before we know: a FIFO would wait for a writer.
 */
static int
open_file(const char *path, Size *bytes)
{
	int			fd = OpenTransientFile(path,
									   O_RDONLY | O_NONBLOCK | PG_BINARY);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
	{
		close_before_error(fd);
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open dump file \"%s\": %m", path)));
	}
	if (!S_ISREG(status.st_mode))
	{
		close_before_error(fd);
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a file", path)));
	}
	*bytes = status.st_size;
	return fd;
}

/*
 * Read from the start of a file; a cancel takes effect between two pieces.
 * Returns how many bytes were read: fewer than "bytes" only if the file is
 * shorter.
 */
static Size
read_bytes(int fd, const char *path, char *text, Size bytes)
{
	Size		done = 0;
	ssize_t		part;

	do
	{
		CHECK_FOR_INTERRUPTS();
		part = plh_whole_io_read(fd, text + done,
								 Min(bytes - done, PIECE_BYTES), done);
		if (part < 0)
		{
			close_before_error(fd);
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read dump file \"%s\": %m", path)));
		}
		done += part;
	} while (part == PIECE_BYTES);
	return done;
}

/*
 * Close a file that is too large for any dump, and throw the ERROR about it.
 */
static void
check_size(int fd, const char *path, Size bytes)
{
	Size		largest = Max((Size) plh_fixed.max_profile_size * LARGEST_SHARE,
							  LARGEST_BYTES);

	if (bytes <= largest)
		return;
	CloseTransientFile(fd);
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("dump file \"%s\" is too large", path),
			 errdetail("It has %zu bytes. No dump has more than %zu, %d times pg_leakhunt.max_profile_size.",
					   bytes, largest, LARGEST_SHARE),
			 errhint("To read dumps of servers with larger profiles, raise pg_leakhunt.max_profile_size.")));
}

/*
 * Read a dump as text.  With "header_only", read no more than the header
 * takes, unless symbols, whose length is not known, precede it.
 */
static void
read_text(PlhDumpLines *lines, bool header_only)
{
	char		start[sizeof(HEAP_SECTION)] = "";
	Size		bytes;
	int			fd = open_file(lines->path, &bytes);
	bool		has_symbols;

	StaticAssertStmt(sizeof(HEAP_SECTION) >= sizeof(SYMBOL_SECTION),
					 "the start is too short to tell symbolized dumps");
	lines->file_bytes = bytes;
	read_bytes(fd, lines->path, start, sizeof(start) - 1);
	has_symbols = strncmp(start, SYMBOL_SECTION, strlen(SYMBOL_SECTION)) == 0;

	/* what is wrong with a small file, its lines say better */
	if (bytes > HEADER_BYTES && !has_symbols &&
		strcmp(start, HEAP_SECTION) != 0)
	{
		CloseTransientFile(fd);
		lines->number = 1;
		plh_dump_lines_damaged(lines, NO_LINE_LIKE, HEAP_SECTION);
	}
	if (header_only && !has_symbols)
		bytes = Min(bytes, HEADER_BYTES);
	check_size(fd, lines->path, bytes);
	lines->start = MemoryContextAllocHuge(CurrentMemoryContext, bytes + 1);
	bytes = read_bytes(fd, lines->path, lines->start, bytes);
	CloseTransientFile(fd);
	lines->start[bytes] = '\0';
	lines->end = lines->start + bytes;
	lines->next = lines->start;
}

/*
 * Throw the ERROR about the current line.  The arguments make the detail,
 * which may quote the file and so need not fit the database's encoding.
 */
void
plh_dump_lines_damaged(const PlhDumpLines *lines, const char *format,...)
{
	char		detail[512];
	va_list		args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("dump file \"%s\" is damaged at line %d", lines->path,
					lines->number),
			 errdetail_internal("%s", plh_database_text_fit(detail))));
}

/*
 * Go on to the next line.  Returns false at the end of the file.
 */
bool
plh_dump_lines_next(PlhDumpLines *lines)
{
	char	   *end;

	Assert(lines->next <= lines->end && *lines->end == '\0');
	CHECK_FOR_INTERRUPTS();
	lines->number++;
	lines->line = lines->next;
	if (lines->next == lines->end)
		return false;
	end = lines->next + strcspn(lines->next, "\n");
	if (end == lines->end)
		plh_dump_lines_damaged(lines, "The file ends within the line.");
	if (*end == '\0')
		plh_dump_lines_damaged(lines, "There is a zero byte in it.");
	*end = '\0';
	lines->next = end + 1;
	return true;
}

/*
 * Go on to the next line, which must exist and begin with "prefix".
 */
void
plh_dump_lines_need(PlhDumpLines *lines, const char *prefix)
{
	if (!plh_dump_lines_next(lines))
		plh_dump_lines_damaged(lines, "The file ends here.");
	if (strncmp(lines->line, prefix, strlen(prefix)) != 0)
		plh_dump_lines_damaged(lines, NO_LINE_LIKE, prefix);
}

/*
 * The text as it is in the file, when all lines have been read: since no line has a
 * zero byte of its own, each of them stands for a newline.
 */
const char *
plh_dump_lines_restore(PlhDumpLines *lines, Size *bytes)
{
	Assert(lines->next == lines->end);
	*bytes = lines->end - lines->start;
	for (char *c = lines->start; c < lines->end; c++)
	{
		if (*c == '\0')
			*c = '\n';
	}
	return lines->start;
}

/*
 * Open a dump, in the current memory context.  The section that symbolized
 * dumps have for jeprof is skipped.  With "header_only", the lines after those
 * about the process may be missing.
 */
PlhDumpLines *
plh_dump_lines_open(const char *path, bool header_only)
{
	PlhDumpLines *lines = palloc0(sizeof(PlhDumpLines));

	lines->path = path;
	read_text(lines, header_only);
	if (strncmp(lines->next, SYMBOL_SECTION, strlen(SYMBOL_SECTION)) == 0)
	{
		do
			plh_dump_lines_need(lines, "");
		while (strcmp(lines->line, "--- heap") != 0);
	}
	return lines;
}

/*
 * Find "name=value" in the current line.  Returns the start of the value,
 * still encoded, and its length; NULL if there is no such field.
 */
static const char *
find_field(const PlhDumpLines *lines, const char *name, Size *length)
{
	Size		name_length = strlen(name);
	const char *word = lines->line;

	for (;;)
	{
		Size		word_length = strcspn(word, " ");

		if (word_length > name_length && word[name_length] == '=' &&
			strncmp(word, name, name_length) == 0)
		{
			*length = word_length - name_length - 1;
			return word + name_length + 1;
		}
		if (word[word_length] == '\0')
			return NULL;
		word += word_length + 1;
	}
}

/* Returns the value of a hexadecimal digit, -1 for any other character. */
static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/*
 * Read a text, and turn each %XX into its byte.  Returns a palloc'd text; NULL
 * if there is no such field.
 */
char *
plh_dump_lines_get_text(const PlhDumpLines *lines, const char *name)
{
	Size		length;
	const char *raw = find_field(lines, name, &length);
	char	   *text;
	char	   *end;

	if (raw == NULL)
		return NULL;
	text = end = palloc(length + 1);
	for (Size i = 0; i < length; i++)
	{
		if (raw[i] != '%')
			*end++ = raw[i];
		else if (i + 2 < length && hex_digit(raw[i + 1]) >= 0 &&
				 hex_digit(raw[i + 2]) >= 0 &&
				 (raw[i + 1] != '0' || raw[i + 2] != '0'))
		{
			*end++ = hex_digit(raw[i + 1]) * 16 + hex_digit(raw[i + 2]);
			i += 2;
		}
		else
			plh_dump_lines_damaged(lines, "Field \"%s\" has a \"%%\" without a code.",
								   name);
	}
	*end = '\0';
	return text;
}

/*
 * Read a text from a field that must exist.
 */
char *
plh_dump_lines_text(const PlhDumpLines *lines, const char *name)
{
	char	   *text = plh_dump_lines_get_text(lines, name);

	if (text == NULL)
		plh_dump_lines_damaged(lines, "Field \"%s\" is missing.", name);
	return text;
}

/*
 * Read a whole number from "low" to "high", decimal or hexadecimal with 0x.
 */
int64
plh_dump_lines_number(const PlhDumpLines *lines, const char *name, int64 low,
					  int64 high)
{
	char	   *text = plh_dump_lines_text(lines, name);
	char	   *end;
	int64		value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || value < low ||
		value > high)
		plh_dump_lines_damaged(lines, "Field \"%s\" is no number from %lld to %lld.",
							   name, (long long) low, (long long) high);
	pfree(text);
	return value;
}

/*
 * Read a number of chunks, samples or bytes, which cannot be negative.
 */
int64
plh_dump_lines_count(const PlhDumpLines *lines, const char *name)
{
	return plh_dump_lines_number(lines, name, 0, PG_INT64_MAX);
}

/*
 * Read such a number from a field that may be missing.
 */
int64
plh_dump_lines_get_count(const PlhDumpLines *lines, const char *name,
						 int64 usual)
{
	Size		length;

	return find_field(lines, name, &length) == NULL ? usual :
		plh_dump_lines_count(lines, name);
}

/*
 * Read a whole number that fits into 64 bits.
 */
int64
plh_dump_lines_int64(const PlhDumpLines *lines, const char *name)
{
	return plh_dump_lines_number(lines, name, PG_INT64_MIN, PG_INT64_MAX);
}

/*
 * Read a whole number that fits into 32 bits without a sign.
 */
uint32
plh_dump_lines_uint32(const PlhDumpLines *lines, const char *name)
{
	return plh_dump_lines_number(lines, name, 0, PG_UINT32_MAX);
}

/*
 * Read a finite number that is not negative and may have a fraction.
 */
double
plh_dump_lines_real(const PlhDumpLines *lines, const char *name)
{
	char	   *text = plh_dump_lines_text(lines, name);
	char	   *end;
	double		value = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(value) || value < 0)
		plh_dump_lines_damaged(lines, "Field \"%s\" is no finite number from 0 on.",
							   name);
	return value;
}

/*
 * Read a time.  Dumps count microseconds since 1970, PostgreSQL since 2000.
 */
TimestampTz
plh_dump_lines_time(const PlhDumpLines *lines, const char *name)
{
	return plh_dump_lines_number(lines, name, 0, PG_INT64_MAX) - PLH_UNIX_EPOCH_US;
}

/*
 * Read at most "room" bytes, written in hexadecimal digits.  Returns how many
 * there were.
 */
int
plh_dump_lines_bytes(const PlhDumpLines *lines, const char *name,
					 unsigned char *bytes, int room)
{
	char	   *digits = plh_dump_lines_text(lines, name);
	int			count = 0;

	for (; *digits != '\0'; digits += 2)
	{
		if (hex_digit(digits[0]) < 0 || hex_digit(digits[1]) < 0 ||
			count == room)
			plh_dump_lines_damaged(lines,
								   "Field \"%s\" is not %d bytes at most in hexadecimal digits.",
								   name, room);
		bytes[count++] = hex_digit(digits[0]) * 16 + hex_digit(digits[1]);
	}
	return count;
}

/*
 * Read the figures, up to "@", with which a text begins.  Returns the rest of
 * the text; NULL if a figure is missing or negative.
 */
const char *
plh_dump_lines_figures(const char *text, int64 *figures)
{
	long long	values[PLH_LINE_FIGURES];
	int			length = 0;

	if (sscanf(text, "%lld: %lld [%lld: %lld] @ %n", &values[0], &values[1],
			   &values[2], &values[3], &length) != PLH_LINE_FIGURES || length == 0)
		return NULL;
	for (int i = 0; i < PLH_LINE_FIGURES; i++)
	{
		if (values[i] < 0)
			return NULL;
		figures[i] = values[i];
	}
	return text + length;
}
