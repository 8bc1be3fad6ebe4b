/*
 * mappings.c
 *	  The mappings of a process, as the kernel lists them.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/mappings.h"
#include "base/whole_io.h"

bool
plh_mappings_read(const char *list, char *text, Size room)
{
	ssize_t		length;
	int			fd = open(list, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	length = plh_whole_io_read(fd, text, room - 1, PLH_FILE_POSITION);
	close(fd);
	if (length < 0 || length == room - 1)
		return false;
	text[length] = '\0';
	return true;
}

/* Read "7f0000000000-7f0000010000 rw-s 00000000 00:01 4711    /path", in which s stands for shared. */
static bool
read_line(const char *line, PlhMapping *mapping)
{
	char	   *rest;

	mapping->from = strtoul(line, &rest, 16);
	mapping->to = *rest == '-' ? strtoul(rest + 1, &rest, 16) : 0;
	if (mapping->to <= mapping->from || strlen(rest) <= 5)
		return false;
	mapping->is_readable = rest[1] == 'r';
	mapping->is_writable = rest[2] == 'w';
	mapping->is_executable = rest[3] == 'x';
	mapping->is_shared = rest[4] == 's';
	mapping->file_offset = strtoul(rest + 5, NULL, 16);

	/* the path is behind four words, each with a blank before it */
	for (int words = 0; words < 4; words++)
		rest += 1 + strcspn(rest + 1, " ");
	mapping->path = rest + strspn(rest, " ");
	return true;
}

bool
plh_mappings_next(char **text, PlhMapping *mapping)
{
	while (**text != '\0')
	{
		char	   *line = *text;
		char	   *end = strchr(line, '\n');

		if (end == NULL)
			return false;
		*end = '\0';
		*text = end + 1;
		if (read_line(line, mapping))
			return true;
	}
	return false;
}
