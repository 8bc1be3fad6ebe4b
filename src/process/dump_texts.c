/*
 * dump_texts.c
 *	  The texts for jeprof and pprof that lie beside dumps.
 *
 * A text is not synced: it can be made again.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "storage/fd.h"

#include "base/limits.h"
#include "base/settings.h"
#include "dump/heap_text.h"
#include "process/dump_texts.h"
#include "process/errors.h"
#include "profile/dump_names.h"
#include "reader/dump_reader.h"

/* The path of the text of a dump.  Returns false if that is no dump's path. */
static bool
make_text_path(char *path, Size bytes, const char *dump_path)
{
	PlhDumpName name;
	const char *separator = strrchr(dump_path, '/');

	if (separator == NULL || !plh_dump_names_parse(separator + 1, &name))
		return false;
	name.is_text = true;
	plh_dump_names_path(path, bytes, &name);
	return true;
}

/* Write the text to a new file, and close it.  Returns whether it is complete. */
static bool
write_file(int fd, const PlhProfileImage *image, const char *reason, TimestampTz written_at)
{
	FILE	   *file = fdopen(fd, "w");
	bool		written;

	if (file == NULL)
	{
		close(fd);
		return false;
	}
	written = plh_heap_text_write(file, image, reason, written_at) == 0;
	return fclose(file) == 0 && written;
}

bool
plh_dump_texts_write(const char *dump_path, const PlhProfileImage *image,
					 const char *reason, TimestampTz written_at)
{
	char		path[PLH_PATH_MAX];
	char		temporary[PLH_PATH_MAX];
	int			fd;

	if (!plh_dump_text || !make_text_path(path, sizeof(path), dump_path))
		return false;
	fd = plh_dump_names_create(temporary, sizeof(temporary));
	if (fd < 0)
		return false;
	if (write_file(fd, image, reason, written_at) && rename(temporary, path) == 0)
		return true;
	(void) unlink(temporary);
	return false;
}

/* plh_errors_catch calls this: write the text of one dump. */
static void
make_text(void *arg)
{
	const char *path = arg;
	PlhDump    *dump = plh_dump_reader_read(path, false);

	(void) plh_dump_texts_write(path, dump->image, dump->reason, dump->written_at);
}

/*
 * Is that the name of a dump without a text?  One that got its name a while before "since" was
 * looked at then: a text that could not be made is not tried for ever.
 */
static bool
lacks_text(const char *name, time_t since)
{
	PlhDumpName parsed;
	struct stat status;
	char		path[PLH_PATH_MAX];

	if (!plh_dump_names_parse(name, &parsed) || parsed.is_text)
		return false;
	plh_dump_names_path(path, sizeof(path), &parsed);
	if (lstat(path, &status) != 0 || status.st_ctime < since - 1)
		return false;
	parsed.is_text = true;
	plh_dump_names_path(path, sizeof(path), &parsed);
	return access(path, F_OK) != 0;
}

/* What plh_errors_catch calls make_missing with. */
typedef struct MissingTexts
{
	time_t		since;
	bool		(*must_stop) (void);
} MissingTexts;

/*
 * Write the texts that are missing; see plh_dump_texts_make_missing.  Only the log is told of a
 * dump that is damaged: the user of a session that does this may have no right to know of it.
 */
static void
make_missing(void *arg)
{
	const MissingTexts *missing = arg;
	const char *directory = plh_load_settings.dump_directory;
	DIR		   *dir = AllocateDir(directory);
	struct dirent *entry;

	while ((entry = ReadDirExtended(dir, directory, DEBUG1)) != NULL)
	{
		if (missing->must_stop())
			break;
		if (lacks_text(entry->d_name, missing->since))
			(void) plh_errors_catch_of_file(make_text, psprintf("%s/%s", directory, entry->d_name),
											psprintf("could not write the text of dump file \"%s\"",
													 entry->d_name));
	}
	FreeDir(dir);
}

void
plh_dump_texts_make_missing(time_t since, bool (*must_stop) (void))
{
	MissingTexts missing = {since, must_stop};

	if (plh_dump_text)
		(void) plh_errors_catch(make_missing, &missing, "could not write the texts of dump files");
}
