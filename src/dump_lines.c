/*
 * dump_lines.c
 *	  The lines of a heap file, and the fields in them.
 *
 * The file is read as a whole.  A line that is not as it should be is an ERROR
 * with its number.
 */
#include "postgres.h"

#include <math.h>
#include <sys/stat.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "dump_format.h"
#include "dump_lines.h"

/*
 * Throw the ERROR about the current line; the format makes the detail.
 */
void
plh_lines_damaged(const PlhLines *lines, const char *format,...)
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
			 errdetail_internal("%s", detail)));
}

/*
 * Go on to the next line; false at the end of the file.
 */
bool
plh_lines_next(PlhLines *lines)
{
	char	   *end;

	CHECK_FOR_INTERRUPTS();
	lines->number++;
	lines->line = lines->next;
	if (*lines->next == '\0')
		return false;
	end = strchr(lines->next, '\n');
	if (end == NULL)
		plh_lines_damaged(lines, "The file ends within the line.");
	*end = '\0';
	lines->next = end + 1;
	return true;
}

/*
 * Go on to the next line, which must be there and begin that way.
 */
void
plh_lines_need(PlhLines *lines, const char *prefix)
{
	if (!plh_lines_next(lines))
		plh_lines_damaged(lines, "The file ends here.");
	if (strncmp(lines->line, prefix, strlen(prefix)) != 0)
		plh_lines_damaged(lines, "A line that begins with \"%s\" was expected.",
						  prefix);
}

/* The raw value of "name=value" in the current line, and its length; or NULL. */
static const char *
find_field(const PlhLines *lines, const char *name, Size *length)
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
 * The value of a field with %XX put right; NULL if there is no such field.
 */
char *
plh_lines_get_text(const PlhLines *lines, const char *name)
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
			plh_lines_damaged(lines, "Field \"%s\" has a \"%%\" without a code.",
							  name);
	}
	*end = '\0';
	return text;
}

/*
 * The value of a field that must be there.
 */
char *
plh_lines_text(const PlhLines *lines, const char *name)
{
	char	   *text = plh_lines_get_text(lines, name);

	if (text == NULL)
		plh_lines_damaged(lines, "Field \"%s\" is missing.", name);
	return text;
}

/*
 * The same as a whole number from "low" to "high", decimal or with 0x.
 */
int64
plh_lines_number(const PlhLines *lines, const char *name, int64 low, int64 high)
{
	char	   *text = plh_lines_text(lines, name);
	char	   *end;
	int64		value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || value < low ||
		value > high)
		plh_lines_damaged(lines, "Field \"%s\" is no number from %lld to %lld.",
						  name, (long long) low, (long long) high);
	pfree(text);
	return value;
}

/*
 * The same as any number that fits.
 */
int64
plh_lines_int64(const PlhLines *lines, const char *name)
{
	return plh_lines_number(lines, name, PG_INT64_MIN, PG_INT64_MAX);
}

/*
 * The same as any number that fits.
 */
uint32
plh_lines_uint32(const PlhLines *lines, const char *name)
{
	return plh_lines_number(lines, name, 0, PG_UINT32_MAX);
}

/*
 * The same as a finite number, which may have a fraction.
 */
double
plh_lines_real(const PlhLines *lines, const char *name)
{
	char	   *text = plh_lines_text(lines, name);
	char	   *end;
	double		value = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(value))
		plh_lines_damaged(lines, "Field \"%s\" is no finite number.", name);
	return value;
}

/*
 * The same as a time; in the file as microseconds since 1970.
 */
TimestampTz
plh_lines_time(const PlhLines *lines, const char *name)
{
	return plh_lines_number(lines, name, 0, PG_INT64_MAX) - PLH_UNIX_EPOCH_US;
}

/*
 * The same as bytes in hexadecimal digits, at most "room" of them; returns how
 * many.
 */
int
plh_lines_bytes(const PlhLines *lines, const char *name,
				unsigned char *bytes, int room)
{
	char	   *digits = plh_lines_text(lines, name);
	int			count = 0;

	for (; *digits != '\0'; digits += 2)
	{
		if (hex_digit(digits[0]) < 0 || hex_digit(digits[1]) < 0 ||
			count == room)
			plh_lines_damaged(lines,
							  "Field \"%s\" is not %d bytes at most in hexadecimal digits.",
							  name, room);
		bytes[count++] = hex_digit(digits[0]) * 16 + hex_digit(digits[1]);
	}
	return count;
}

/* What a symbolized dump begins with, and room for all lines up to "# lost_". */
#define SYMBOL_SECTION "--- symbol"
#define HEADER_BYTES (16 * 1024)

/* A file as text, or as much as the header takes, unless symbols precede it. */
static char *
read_text(const char *path, bool header_only)
{
	char		start[sizeof(SYMBOL_SECTION)] = "";
	FILE	   *file = AllocateFile(path, PG_BINARY_R);
	struct stat status;
	Size		bytes;
	char	   *text;

	if (file == NULL || fstat(fileno(file), &status) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open dump file \"%s\": %m", path)));
	if (!S_ISREG(status.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a file", path)));
	bytes = status.st_size;
	if (header_only &&
		(fread(start, 1, sizeof(start) - 1, file) < sizeof(start) - 1 ||
		 strcmp(start, SYMBOL_SECTION) != 0))
		bytes = Min(bytes, HEADER_BYTES);
	text = MemoryContextAllocHuge(CurrentMemoryContext, bytes + 1);
	if (fseek(file, 0, SEEK_SET) != 0 ||
		fread(text, 1, bytes, file) != bytes)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read dump file \"%s\": %m", path)));
	FreeFile(file);
	text[bytes] = '\0';
	return text;
}

/*
 * Open a dump file, in the current memory context.  The section that
 * symbolized dumps have for jeprof is skipped.  With "header_only", there may be
 * no more lines than those about the process.
 */
PlhLines *
plh_lines_open(const char *path, bool header_only)
{
	PlhLines   *lines = palloc0(sizeof(PlhLines));

	lines->path = path;
	lines->next = read_text(path, header_only);
	if (strncmp(lines->next, SYMBOL_SECTION, strlen(SYMBOL_SECTION)) == 0)
	{
		do
			plh_lines_need(lines, "");
		while (strcmp(lines->line, "--- heap") != 0);
	}
	return lines;
}
