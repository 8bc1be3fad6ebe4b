/*
 * apt_archives.c
 *	  The archives of packages that apt is told of, as far as their names lead to those
 *	  of debug symbols.
 *
 * There are two formats: *.list has an archive per line, *.sources a paragraph per
 * archive, with fields.
 */
#include "postgres.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "base/whole_io.h"
#include "report/apt_archives.h"

/* Of longer files, and of more of them, the rest is not read. */
#define MAX_FILE_BYTES 65536
#define MAX_FILES 100

#define SPACES " \t\r"

/* What may stand in a line for a shell as it is; "@" may have a password before it. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/._~+-"

/*
 * Read a file.
 */
char *
plh_apt_archives_file(const char *path)
{
	char	   *text = palloc(MAX_FILE_BYTES);
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t		bytes = fd < 0 ? -1 :
		plh_whole_io_read(fd, text, MAX_FILE_BYTES - 1, PLH_FILE_POSITION);

	if (fd >= 0)
		close(fd);
	if (bytes < 0)
		return NULL;
	text[bytes] = '\0';
	return text;
}

/* The next word of a line, which is cut off from it; NULL at its end. */
static char *
next_word(char **line)
{
	char	   *word = *line + strspn(*line, SPACES);

	if (*word == '\0')
		return NULL;
	*line = word + strcspn(word, SPACES);
	if (**line != '\0')
		*(*line)++ = '\0';
	return word;
}

/* Is it plain enough to be shown in a line for a shell? */
static bool
is_plain(const char *word)
{
	return word[0] != '\0' && word[strspn(word, PLAIN)] == '\0';
}

/* Add an archive. */
static void
add_archive(PlhAptArchives *archives, const char *uri, const char *suite)
{
	PlhAptArchive *archive = &archives->archives[archives->count];
	char	   *plain_uri;
	Size		bytes;

	if (uri == NULL || suite == NULL || !is_plain(uri) || !is_plain(suite) ||
		archives->count == PLH_MOST_ARCHIVES)
		return;
	plain_uri = pstrdup(uri);
	bytes = strlen(plain_uri);
	while (bytes > 0 && plain_uri[bytes - 1] == '/')
		plain_uri[--bytes] = '\0';
	archive->uri = plain_uri;
	archive->suite = pstrdup(suite);
	archives->count++;
}

/* "deb [arch=amd64 signed-by=...] URI SUITE COMPONENT..." */
static void
add_line(PlhAptArchives *archives, char *line)
{
	char	   *word = next_word(&line);

	if (word == NULL || strcmp(word, "deb") != 0)
		return;
	word = next_word(&line);
	if (word != NULL && word[0] == '[')
	{
		while (word != NULL && strchr(word, ']') == NULL)
			word = next_word(&line);
		word = next_word(&line);
	}
	add_archive(archives, word, next_word(&line));
}

/* The fields of a paragraph; NULL where it has none. */
typedef struct Paragraph
{
	char	   *types;
	char	   *uris;
	char	   *suites;
	char	   *enabled;
} Paragraph;

/* Add the archives of a paragraph, each suite at its first place, and start anew. */
static void
end_paragraph(PlhAptArchives *archives, Paragraph *paragraph)
{
	Paragraph	read = *paragraph;
	char	   *type = read.types == NULL ? NULL : next_word(&read.types);
	char	   *uri = read.uris == NULL ? NULL : next_word(&read.uris);
	char	   *enabled = read.enabled == NULL ? NULL : next_word(&read.enabled);
	char	   *suite;

	memset(paragraph, 0, sizeof(*paragraph));
	if (type == NULL || strcmp(type, "deb") != 0 || read.suites == NULL ||
		(enabled != NULL && pg_strcasecmp(enabled, "no") == 0))
		return;
	while ((suite = next_word(&read.suites)) != NULL)
		add_archive(archives, uri, suite);
}

/* Note the field of a line, if it is one of those. */
static void
note_field(Paragraph *paragraph, char *line)
{
	const struct
	{
		const char *name;
		char	  **value;
	}			fields[] = {
		{"Types:", &paragraph->types},
		{"URIs:", &paragraph->uris},
		{"Suites:", &paragraph->suites},
		{"Enabled:", &paragraph->enabled}
	};

	for (int i = 0; i < lengthof(fields); i++)
		if (pg_strncasecmp(line, fields[i].name, strlen(fields[i].name)) == 0)
			*fields[i].value = line + strlen(fields[i].name);
}

/* Add the archives of a file. */
static void
add_file(PlhAptArchives *archives, const char *path)
{
	bool		has_paragraphs = strstr(path, ".sources") != NULL;
	char	   *text = plh_apt_archives_file(path);
	Paragraph	paragraph = {0};
	char	   *line;

	while (text != NULL && (line = strsep(&text, "\n")) != NULL)
	{
		if (!has_paragraphs)
			add_line(archives, line);
		else if (line[strspn(line, SPACES)] == '\0')
			end_paragraph(archives, &paragraph);
		else
			note_field(&paragraph, line);
	}
	end_paragraph(archives, &paragraph);
}

/*
 * Read what apt is told of.
 */
PlhAptArchives *
plh_apt_archives_read(const char *root)
{
	static const char *const patterns[] = {
		"/etc/apt/sources.list",
		"/etc/apt/sources.list.d/*.list",
		"/etc/apt/sources.list.d/*.sources"
	};
	PlhAptArchives *archives = palloc0(sizeof(PlhAptArchives));

	for (int i = 0; i < lengthof(patterns); i++)
	{
		glob_t		files;

		if (glob(psprintf("%s%s", root, patterns[i]), 0, NULL, &files) != 0)
			continue;
		for (size_t j = 0; j < Min(files.gl_pathc, MAX_FILES); j++)
			add_file(archives, files.gl_pathv[j]);
		globfree(&files);
	}
	return archives;
}
