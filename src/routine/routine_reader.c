/*
 * routine_reader.c
 *	  What the readers of all languages have in common: names of routines.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "base/own_memory.h"
#include "routine/routine_reader.h"

/* A text is read in parts that end where a page does, as the next may not be there. */
#define PART_BYTES 64

/*
 * Is that a text of at least one byte, and no more than any name or signature has?  Without control
 * characters, none of which a pointer or a number lacks for long.
 */
bool
plh_routine_reader_is_name(const char *text)
{
	char		part[PART_BYTES];

	for (Size length = 0; length < 64 * PART_BYTES;)
	{
		Size		bytes = PART_BYTES - (uintptr_t) (text + length) % PART_BYTES;

		if (!plh_own_memory_copy(part, text + length, bytes))
			return false;
		for (Size i = 0; i < bytes; i++, length++)
		{
			if (part[i] == '\0')
				return length > 0;
			if ((unsigned char) part[i] < ' ' || part[i] == 0x7f)
				return false;
		}
	}
	return false;
}

void
plh_routine_reader_put_name(PlhRoutine *routine,...)
{
	va_list		parts;
	const char *part;
	Size		length = 0;

	va_start(parts, routine);
	while ((part = va_arg(parts, const char *)) != NULL)
	{
		Size		bytes = strnlen(part, PLH_ROUTINE_NAME_MAX - length);

		memcpy(routine->made + length, part, bytes);
		length += bytes;
	}
	va_end(parts);
	routine->made[length] = '\0';
	routine->name = routine->made;
}
