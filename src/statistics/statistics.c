/*
 * statistics.c
 *	  Statistics of the memory contexts of one process, as a text has them: added up by name.
 *
 * The tree of contexts is only known by how far to the right each line stands.  Those above the
 * line that was read last are kept, with a count of their children by kind: as a server lists at
 * most 100 children of a context and adds up the others, most of a session with many prepared
 * statements is in such a sum, and what it is of can only be told by its neighbours.
 */
#include "postgres.h"

#include "judge/family.h"
#include "statistics/context_names.h"
#include "statistics/statistics.h"

/* The name of contexts for which there is no room. */
#define OTHER_NAMES "other contexts"

/* What a portal is of that has no name. */
#define UNNAMED "<unnamed>"

/* What is said of contexts that are not listed goes by as many listed ones, at least. */
#define LEAST_SIBLINGS 10

/* In releases up to 10, contexts of indexes have their names. */
#define INDEX_NAME "index info"

void
plh_statistics_begin(PlhStatistics *statistics, int64 number, int64 pid)
{
	memset(statistics, 0, offsetof(PlhStatistics, names));
	statistics->number = number;
	statistics->pid = pid;
	statistics->is_open = true;
	statistics->grand_bytes = -1;
}

/* The sum of two sizes of a text that may have any. */
static int64
sum(int64 left, int64 right)
{
	return left > PG_INT64_MAX / 4 - right ? PG_INT64_MAX / 4 : left + right;
}

static int64
sound(int64 bytes)
{
	return Min(bytes, PG_INT64_MAX / 8);
}

/* The index of a record, which is entered if it is new. */
static int
find_name(PlhStatistics *statistics, const char *name, PlhLifetime lifetime)
{
	bool		lasts = plh_lifetime_is_lasting(lifetime);
	PlhStatisticsName *entered;

	for (int i = 0; i < statistics->name_count; i++)
		if (plh_lifetime_is_lasting(statistics->names[i].lifetime) == lasts &&
			strcmp(statistics->names[i].name, name) == 0)
			return i;
	if (statistics->name_count >= PLH_STATISTICS_NAMES - 2 && strcmp(name, OTHER_NAMES) != 0)
		return find_name(statistics, OTHER_NAMES, lifetime);
	entered = &statistics->names[statistics->name_count];
	memset(entered, 0, sizeof(*entered));
	strlcpy(entered->name, name, sizeof(entered->name));
	entered->lifetime = lifetime;
	return statistics->name_count++;
}

/* The place of a text among the examples, or that of the one that has least, which it takes. */
static PlhStatisticsExample *
place_of(PlhStatisticsName *name, const char *text)
{
	PlhStatisticsExample *least = &name->examples[0];

	for (int i = 0; i < name->example_count; i++)
	{
		if (strcmp(name->examples[i].text, text) == 0)
			return &name->examples[i];
		if (name->examples[i].bytes < least->bytes)
			least = &name->examples[i];
	}
	if (name->example_count < PLH_STATISTICS_EXAMPLES)
	{
		least = &name->examples[name->example_count++];
		memset(least, 0, sizeof(*least));
	}
	else
	{
		least->missed_bytes = sum(least->missed_bytes, least->bytes);
		least->bytes = least->contexts = 0;
	}
	strlcpy(least->text, text, sizeof(least->text));
	return least;
}

static void
add_example(PlhStatisticsName *name, PlhTextSpan ident, int64 bytes)
{
	char		text[PLH_STATISTICS_TEXT_ROOM];
	PlhStatisticsExample *example;

	if (ident.bytes == 0 || plh_text_span_is(ident, UNNAMED))
		return;
	plh_text_span_copy(text, sizeof(text), ident);
	example = place_of(name, text);
	example->contexts++;
	example->bytes = sum(example->bytes, bytes);
}

/* Add a context to those of its name, and to all. */
static void
count(PlhStatistics *statistics, int index, const PlhContextLine *line, PlhTextSpan ident)
{
	PlhStatisticsName *name = &statistics->names[index];
	int64		bytes = sound(line->total_bytes);
	int64		free_bytes = Min(sound(line->free_bytes), bytes);

	name->contexts++;
	name->bytes = sum(name->bytes, bytes);
	name->free_bytes = sum(name->free_bytes, free_bytes);
	name->largest_bytes = Max(name->largest_bytes, bytes);
	add_example(name, ident, bytes);
	statistics->contexts++;
	statistics->bytes = sum(statistics->bytes, bytes);
	statistics->free_bytes = sum(statistics->free_bytes, free_bytes);
	statistics->is_cut |= line->is_cut;
}

/* Are contexts of two names of one kind, in the head of a reader? */
static bool
are_alike(const char *left, const char *right)
{
	const PlhFamily *family = plh_family_of(left);

	return strcmp(left, right) == 0 || (family != NULL && family == plh_family_of(right));
}

/* Note a child of a context, by its kind. */
static void
note_child(PlhStatistics *statistics, PlhStatisticsLevel *parent, int name)
{
	int			kind = 0;

	while (kind < parent->kinds && !are_alike(statistics->names[parent->siblings[kind].name].name,
											  statistics->names[name].name))
		kind++;
	parent->last = kind;
	if (kind == PLH_STATISTICS_SIBLINGS)
		return;
	if (kind == parent->kinds)
	{
		parent->siblings[kind] = (PlhStatisticsSiblings)
		{
			name
		};
		parent->kinds++;
	}
	parent->siblings[kind].contexts++;
}

/* Add the bytes of a context to those below each of the contexts above it. */
static void
add_to_ancestors(PlhStatistics *statistics, int64 bytes)
{
	for (int i = 0; i < statistics->depth; i++)
	{
		PlhStatisticsLevel *level = &statistics->levels[i];

		if (level->last < level->kinds)
			level->siblings[level->last].bytes = sum(level->siblings[level->last].bytes, bytes);
	}
}

/* Forget the contexts that are no longer above a line that stands so far to the right. */
static void
leave_levels(PlhStatistics *statistics, int64 indent)
{
	while (statistics->depth > 0 && statistics->levels[statistics->depth - 1].indent >= indent)
		statistics->depth--;
}

/* The context above the next line; NULL where none is known. */
static PlhStatisticsLevel *
parent_level(PlhStatistics *statistics)
{
	return statistics->depth == 0 ? NULL : &statistics->levels[statistics->depth - 1];
}

static const char *
level_name(const PlhStatistics *statistics, const PlhStatisticsLevel *level)
{
	return level == NULL ? "" : statistics->names[level->name].name;
}

static PlhLifetime
lifetime_below(const PlhStatistics *statistics, const PlhStatisticsLevel *parent, const char *name)
{
	const char *parent_name = level_name(statistics, parent);

	if (parent == NULL || !statistics->has_top)
		return plh_context_names_guess(name, parent_name);
	if (strcmp(parent_name, "TopMemoryContext") == 0)
		return plh_context_names_below(name, plh_context_names_top_child(name));
	return plh_context_names_below(name, parent->lifetime);
}

/* Has it the name of an index of the catalogs, which only caches have? */
static bool
is_catalog_index(const char *name)
{
	return strncmp(name, "pg_", 3) == 0 && plh_context_names_is_index(name);
}

/*
 * Is it the context of an index, in a release in which these had the names of their indexes?  Those
 * of the catalogs are known also where the line of CacheMemoryContext was cut off.
 */
static bool
is_index(const PlhStatistics *statistics, const char *parent, const char *name, PlhTextSpan ident)
{
	if (ident.bytes > 0 || plh_family_of(name) != NULL)
		return false;
	if (parent[0] == '\0')
		return is_catalog_index(name);
	return strcmp(parent, "CacheMemoryContext") == 0 &&
		(statistics->is_old || plh_context_names_is_index(name));
}

static void
enter_level(PlhStatistics *statistics, int64 indent, int name, PlhLifetime lifetime)
{
	PlhStatisticsLevel *level;

	if (statistics->depth == PLH_STATISTICS_LEVELS)
		return;
	level = &statistics->levels[statistics->depth++];
	level->indent = indent;
	level->name = name;
	level->lifetime = lifetime;
	level->last = level->kinds = 0;
}

/* Enter a context below that of a name.  Returns the index of its record. */
static int
enter(PlhStatistics *statistics, const PlhContextLine *line, const char *parent,
	  PlhStatisticsLevel *level, PlhLifetime *lifetime)
{
	char		written[PLH_STATISTICS_NAME_ROOM];
	const char *name;
	PlhTextSpan ident = line->ident;
	int			index;

	plh_text_span_copy(written, sizeof(written),
					   plh_text_span_plain(plh_text_span_trim(line->name)));
	statistics->is_old |= plh_context_names_is_old(written);
	name = plh_context_names_current(written);
	if (is_index(statistics, parent, name, ident))
	{
		ident = plh_text_span_trim(line->name);
		name = INDEX_NAME;
	}
	statistics->has_top |= strcmp(name, "TopMemoryContext") == 0;
	*lifetime = level != NULL ? lifetime_below(statistics, level, name) :
		plh_context_names_guess(name, parent);
	index = find_name(statistics, name, *lifetime);
	count(statistics, index, line, ident);
	return index;
}

static void
add_one(PlhStatistics *statistics, const PlhContextLine *line, int64 indent)
{
	PlhStatisticsLevel *parent;
	PlhLifetime lifetime;
	int			index;

	leave_levels(statistics, indent);
	parent = parent_level(statistics);
	index = enter(statistics, line, level_name(statistics, parent), parent, &lifetime);
	if (parent != NULL)
		note_child(statistics, parent, index);
	add_to_ancestors(statistics, sound(line->total_bytes));
	enter_level(statistics, indent, index, lifetime);
}

/* Find what most of the listed children of the parent are. */
static void
find_like(PlhStatisticsRest *rest, const PlhStatisticsLevel *parent)
{
	const PlhStatisticsSiblings *most = NULL;
	int64		bytes = 0;

	for (int i = 0; i < parent->kinds; i++)
	{
		const PlhStatisticsSiblings *siblings = &parent->siblings[i];

		rest->listed += siblings->contexts;
		bytes = sum(bytes, siblings->bytes);
		if (most == NULL || siblings->bytes > most->bytes)
			most = siblings;
	}
	if (most == NULL || rest->listed < LEAST_SIBLINGS || most->bytes < bytes / 3 * 2 ||
		most->contexts < rest->listed / 2)
		return;
	rest->like = most->name;
	rest->alike = most->contexts;
}

/* Their line has the level of the parent in a server's log, and that of its children elsewhere. */
static const PlhStatisticsLevel *
parent_of_rest(PlhStatistics *statistics, const PlhContextLine *line, int64 indent)
{
	leave_levels(statistics, line->level >= 0 ? indent + 1 : indent);
	return parent_level(statistics);
}

/* The last place has all for which there is none. */
static void
keep_rest(PlhStatistics *statistics, const PlhStatisticsRest *rest)
{
	PlhStatisticsRest *last = &statistics->rests[PLH_STATISTICS_RESTS - 1];

	if (statistics->rest_count < PLH_STATISTICS_RESTS)
	{
		statistics->rests[statistics->rest_count++] = *rest;
		return;
	}
	last->parent = last->like = -1;
	last->contexts = sum(last->contexts, rest->contexts);
	last->bytes = sum(last->bytes, rest->bytes);
	last->free_bytes = sum(last->free_bytes, rest->free_bytes);
}

static void
add_rest(PlhStatistics *statistics, const PlhContextLine *line, int64 indent)
{
	const PlhStatisticsLevel *parent = parent_of_rest(statistics, line, indent);
	PlhStatisticsRest rest = {
		.parent = parent == NULL ? -1 : parent->name,
		.like = -1,
		.contexts = sound(line->contexts),
		.bytes = sound(line->total_bytes),
		.free_bytes = Min(sound(line->free_bytes), sound(line->total_bytes))
	};

	if (parent != NULL)
		find_like(&rest, parent);
	statistics->contexts = sum(statistics->contexts, rest.contexts);
	statistics->bytes = sum(statistics->bytes, rest.bytes);
	statistics->free_bytes = sum(statistics->free_bytes, rest.free_bytes);
	statistics->is_cut |= line->is_cut;
	keep_rest(statistics, &rest);
}

void
plh_statistics_add(PlhStatistics *statistics, const PlhContextLine *line, int64 indent)
{
	statistics->idle_lines = 0;
	if (line->kind == PLH_CONTEXT_LINE_MORE)
		add_rest(statistics, line, indent);
	else
		add_one(statistics, line, indent);
}

/* Is the context above a level the parent, as it is where rows come in the order of the tree? */
static bool
fits_tree(PlhStatistics *statistics, int64 level, const char *parent)
{
	if (level < 0)
		return false;
	leave_levels(statistics, level);
	return strcmp(level_name(statistics, parent_level(statistics)), parent) == 0;
}

void
plh_statistics_add_row(PlhStatistics *statistics, const PlhContextLine *row, const char *parent)
{
	PlhLifetime lifetime;

	statistics->is_by_rows = true;
	if (row->kind == PLH_CONTEXT_LINE_MORE)
		add_rest(statistics, row, 0);
	else if (fits_tree(statistics, row->level, plh_context_names_current(parent)))
		add_one(statistics, row, row->level);
	else
		(void) enter(statistics, row, plh_context_names_current(parent), NULL, &lifetime);
}

const PlhStatisticsName *
plh_statistics_name(const PlhStatistics *statistics, int index)
{
	return index < 0 || index >= statistics->name_count ? NULL : &statistics->names[index];
}
