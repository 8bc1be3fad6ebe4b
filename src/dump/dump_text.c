/*
 * dump_text.c
 *	  Writes text into a file, through a buffer, without allocating.
 *
 * This code runs inside palloc and at exit.
 */
#include "postgres.h"

#include "base/whole_io.h"
#include "dump/dump_format.h"
#include "dump/dump_text.h"

/*
 * Begin to write to an open file.
 */
void
plh_dump_text_begin(PlhDumpText *file, int fd)
{
	file->fd = fd;
	file->used = 0;
	file->flushed = 0;
	file->saved_errno = 0;
}

static void
flush(PlhDumpText *file)
{
	if (file->saved_errno == 0 &&
		!plh_whole_io_write(file->fd, file->buffer, file->used,
							PLH_FILE_POSITION))
		file->saved_errno = errno;
	file->flushed += file->used;
	file->used = 0;
}

/*
 * Append formatted text of at most a few thousand bytes.
 */
void
plh_dump_text_format(PlhDumpText *file, const char *format,...)
{
	va_list		args;
	Size		room;
	int			length;

	Assert(file->used <= sizeof(file->buffer));
	if (sizeof(file->buffer) - file->used < 4096)
		flush(file);
	room = sizeof(file->buffer) - file->used;
	va_start(args, format);
	length = vsnprintf(file->buffer + file->used, room, format, args);
	va_end(args);
	Assert(length >= 0 && length < room);
	if (length > 0)
		file->used += Min((Size) length, room - 1);
}

/*
 * Append bytes as they are.
 */
void
plh_dump_text_bytes(PlhDumpText *file, const char *bytes, Size count)
{
	while (count > 0)
	{
		Size		part;

		if (file->used == sizeof(file->buffer))
			flush(file);
		part = Min(count, sizeof(file->buffer) - file->used);
		memcpy(file->buffer + file->used, bytes, part);
		file->used += part;
		bytes += part;
		count -= part;
	}
}

/*
 * Append " name=value".  White space, control characters and '%' of the value
 * become %XX, so that any value stays within its line.
 */
void
plh_dump_text_value(PlhDumpText *file, const char *name, const char *value, Size bytes)
{
	const char *end = value + bytes;

	plh_dump_text_format(file, " %s=", name);
	while (value < end)
	{
		const char *plain = value;

		while (value < end && (unsigned char) *value > ' ' &&
			   *value != '%' && *value != 0x7F)
			value++;
		plh_dump_text_bytes(file, plain, value - plain);
		if (value < end)
			plh_dump_text_format(file, "%%%02X", (unsigned char) *value++);
	}
}

/*
 * Append digits: snprintf would take most of the time of a dump.
 */
void
plh_dump_text_digits(PlhDumpText *file, uint64 value, int base)
{
	char		text[24];
	int			start = sizeof(text);

	do
	{
		text[--start] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	plh_dump_text_bytes(file, text + start, sizeof(text) - start);
}

/*
 * Append " name=value".
 */
void
plh_dump_text_number(PlhDumpText *file, const char *name, int64 value)
{
	plh_dump_text_bytes(file, " ", 1);
	plh_dump_text_bytes(file, name, strlen(name));
	plh_dump_text_bytes(file, "=", 1);
	if (value < 0)
		plh_dump_text_bytes(file, "-", 1);
	plh_dump_text_digits(file, value < 0 ? -(uint64) value : (uint64) value, 10);
}

/*
 * Append " name=value", unless the value is what it is taken for without.
 */
void
plh_dump_text_number_unless(PlhDumpText *file, const char *name, int64 value, int64 usual)
{
	if (value != usual)
		plh_dump_text_number(file, name, value);
}

/*
 * Leave room for the size of the file, which is not known yet.
 */
void
plh_dump_text_size(PlhDumpText *file, const char *name)
{
	plh_dump_text_format(file, " %s=", name);
	file->size_at = file->flushed + file->used;
	plh_dump_text_format(file, "%*s", PLH_FILE_BYTES_DIGITS, "");
}

/* Fill in the size of the file, which is complete. */
static void
fill_in_size(PlhDumpText *file)
{
	char		digits[PLH_FILE_BYTES_DIGITS + 1];
	int			length = snprintf(digits, sizeof(digits), "%lld",
								  (long long) file->flushed);

	if (file->saved_errno == 0 &&
		!plh_whole_io_write(file->fd, digits, length, file->size_at))
		file->saved_errno = errno;
}

/*
 * Write what is left, and fill in the size.  Returns 0, or the errno of the first
 * failure.
 */
int
plh_dump_text_end(PlhDumpText *file)
{
	flush(file);
	fill_in_size(file);
	return file->saved_errno;
}
