/*
 * statistics_rows.c
 *	  Rows of pg_backend_memory_contexts or pg_get_process_memory_contexts, as psql and other
 *	  clients print them.
 *
 * A head with the columns "name" and "total_bytes" begins them, and tells how columns are parted.
 * What a context is of may have any text, also the separator: where a row has more fields than the
 * head, the surplus is part of that.
 */
#include "postgres.h"

#include "statistics/statistics_rows.h"

static const char *const column_names[PLH_ROW_COLUMNS] = {
	[PLH_ROW_NAME] = "name",
	[PLH_ROW_IDENT] = "ident",
	[PLH_ROW_PARENT] = "parent",
	[PLH_ROW_LEVEL] = "level",
	[PLH_ROW_PATH] = "path",
	[PLH_ROW_TOTAL] = "total_bytes",
	[PLH_ROW_BLOCKS] = "total_nblocks",
	[PLH_ROW_FREE] = "free_bytes",
	[PLH_ROW_CONTEXTS] = "num_agg_contexts"
};

/* Of a field of CSV that goes on in the next line, this much is kept. */
#define QUOTED_BYTES 512

/* psql's linestyle unicode draws its lines with these. */
#define UNICODE_LINE "\342\224\202"

static int
find_column(PlhTextSpan name)
{
	for (int i = 0; i < PLH_ROW_COLUMNS; i++)
		if (plh_text_span_is(name, column_names[i]))
			return i;
	return -1;
}

/* Without the blanks and quotes around it. */
static PlhTextSpan
bare(PlhTextSpan field)
{
	field = plh_text_span_trim(field);
	if (field.bytes >= 2 && field.data[0] == '"' && field.data[field.bytes - 1] == '"')
		field = plh_text_span_first(plh_text_span_behind(field, 1), field.bytes - 2);
	return field;
}

/* The bytes of the separator that begins there; 0: none does. */
static Size
separator_at(const PlhStatisticsRows *rows, PlhTextSpan line, Size at)
{
	if (line.data[at] == rows->separator)
		return 1;
	if (rows->separator == '|' &&
		plh_text_span_begins(plh_text_span_behind(line, at), UNICODE_LINE))
		return strlen(UNICODE_LINE);
	return 0;
}

/* Cut a line into fields.  Returns how many there are, of which the room has the first. */
static int
split(const PlhStatisticsRows *rows, PlhTextSpan line, PlhTextSpan fields[PLH_ROW_FIELDS])
{
	bool		quoted = false;
	Size		start = 0;
	int			count = 0;

	for (Size i = 0; i <= line.bytes; i++)
	{
		Size		bytes = i < line.bytes && !quoted ? separator_at(rows, line, i) : 0;

		if (i < line.bytes && line.data[i] == '"' && rows->separator == ',')
			quoted = !quoted;
		if (bytes == 0 && i < line.bytes)
			continue;
		if (count < PLH_ROW_FIELDS)
			fields[count] = plh_text_span_first(plh_text_span_behind(line, start), i - start);
		count++;
		start = i + bytes;
		i += Max(bytes, 1) - 1;
	}
	return count;
}

/* A border of psql's, on both sides of a line. */
static PlhTextSpan
without_border(PlhTextSpan line)
{
	line = plh_text_span_trim(line);
	if (!plh_text_span_skip(&line, "|"))
		(void) plh_text_span_skip(&line, UNICODE_LINE);
	if (line.bytes > 0 && line.data[line.bytes - 1] == '|')
		line.bytes--;
	return line;
}

static char
separator_of(PlhTextSpan head)
{
	if (plh_text_span_find(head, "|", 0) >= 0 || plh_text_span_find(head, UNICODE_LINE, 0) >= 0)
		return '|';
	return plh_text_span_find(head, "\t", 0) >= 0 ? '\t' : ',';
}

static void
begin(PlhStatisticsRows *rows)
{
	memset(rows, 0, sizeof(*rows));
	rows->is_active = true;
	for (int i = 0; i < PLH_ROW_COLUMNS; i++)
		rows->columns[i] = -1;
}

/* Read a head.  False: the line is none. */
static bool
read_head(PlhStatisticsRows *rows, PlhTextSpan line)
{
	PlhTextSpan fields[PLH_ROW_FIELDS];

	if (plh_text_span_find(line, "total_bytes", 0) < 0 || plh_text_span_find(line, "name", 0) < 0)
		return false;
	begin(rows);
	rows->separator = separator_of(line);
	rows->count = split(rows, rows->separator == '|' ? without_border(line) : line, fields);
	for (int i = 0; i < Min(rows->count, PLH_ROW_FIELDS); i++)
	{
		int			column = find_column(bare(fields[i]));

		if (column >= 0)
			rows->columns[column] = i;
	}
	rows->is_active = rows->columns[PLH_ROW_NAME] >= 0 && rows->columns[PLH_ROW_TOTAL] >= 0;
	return rows->is_active;
}

/* Keep a part of a row that has several lines. */
static PlhTextSpan
keep(PlhStatisticsRows *rows, PlhTextSpan part, Size most)
{
	Size		bytes = Min(Min(part.bytes, most), PLH_ROW_ROOM - rows->used);
	char	   *start = rows->row + rows->used;

	memcpy(start, part.data, bytes);
	rows->used += bytes;
	return (PlhTextSpan)
	{
		start, bytes
	};
}

static int64
number_of(PlhTextSpan field)
{
	int64		number;

	field = bare(field);
	return plh_text_span_number(&field, &number) ? number : -1;
}

/* Has the last row what a context needs? */
static bool
is_row(const PlhStatisticsRows *rows)
{
	return rows->fields[PLH_ROW_NAME].bytes > 0 && number_of(rows->fields[PLH_ROW_TOTAL]) >= 0;
}

/* Which field a column has, where what a context is of was cut by separators in it. */
static int
field_of(const PlhStatisticsRows *rows, int column, int surplus)
{
	int			ident = rows->columns[PLH_ROW_IDENT];

	return column > ident && ident >= 0 ? column + surplus : column;
}

/* Read a row that is in one line.  False: it is none. */
static bool
read_row(PlhStatisticsRows *rows, PlhTextSpan line)
{
	PlhTextSpan fields[PLH_ROW_FIELDS];
	int			count = split(rows, line, fields);
	int			surplus = Max(0, count - rows->count);

	memset(rows->fields, 0, sizeof(rows->fields));
	if (count < rows->count)
		return false;
	for (int i = 0; i < PLH_ROW_COLUMNS; i++)
	{
		int			field = rows->columns[i] < 0 ? -1 : field_of(rows, rows->columns[i], surplus);

		if (field >= 0 && field < PLH_ROW_FIELDS)
			rows->fields[i] = bare(fields[field]);
	}
	return is_row(rows);
}

static Size
count_quotes(PlhTextSpan line)
{
	Size		quotes = 0;

	for (Size i = 0; i < line.bytes; i++)
		quotes += line.data[i] == '"';
	return quotes;
}

/* A line of CSV, whose fields may have line breaks. */
static PlhRowsAnswer
take_csv(PlhStatisticsRows *rows, PlhTextSpan line)
{
	bool		goes_on = count_quotes(line) % 2 != 0;
	PlhTextSpan whole = line;

	if (!rows->in_quotes && !goes_on)
		return read_row(rows, line) ? PLH_ROWS_ROW : PLH_ROWS_PART;
	if (!rows->in_quotes)
	{
		rows->used = 0;
		keep(rows, line, QUOTED_BYTES);
		rows->in_quotes = true;
		return PLH_ROWS_PART;
	}
	if (!goes_on)
		return PLH_ROWS_PART;
	rows->in_quotes = false;
	whole = plh_text_span_behind(line, Max(0, plh_text_span_find(line, "\"", 0)));
	keep(rows, whole, PLH_ROW_ROOM);
	whole.data = rows->row;
	whole.bytes = rows->used;
	return read_row(rows, whole) ? PLH_ROWS_ROW : PLH_ROWS_PART;
}

/* Begin an expanded row.  Returns whether another one ends here. */
static bool
begin_expanded(PlhStatisticsRows *rows)
{
	bool		ends = rows->is_expanded && is_row(rows);

	if (ends)
		return true;
	rows->used = 0;
	memset(rows->fields, 0, sizeof(rows->fields));
	return false;
}

/* "column | value" of an expanded row. */
static PlhRowsAnswer
take_expanded(PlhStatisticsRows *rows, PlhTextSpan line)
{
	PlhTextSpan fields[PLH_ROW_FIELDS];
	int			column;
	Size		end;

	if (split(rows, line, fields) < 2 || (column = find_column(bare(fields[0]))) < 0)
		return PLH_ROWS_PART;
	end = fields[1].data - line.data;
	line = plh_text_span_trim(plh_text_span_behind(line, end));
	rows->fields[column] = keep(rows, line, QUOTED_BYTES);
	return PLH_ROWS_PART;
}

/* "-[ RECORD 1 ]-+----" */
static bool
is_record(PlhTextSpan line)
{
	return plh_text_span_find(plh_text_span_first(line, 16), "[ RECORD ", 0) >= 0;
}

static PlhRowsAnswer
take_record(PlhStatisticsRows *rows)
{
	if (!rows->is_expanded)
	{
		begin(rows);
		rows->is_expanded = true;
		rows->separator = '|';
		return PLH_ROWS_HEAD;
	}
	/* the fields of the row stay where they are until it is added */
	return begin_expanded(rows) ? PLH_ROWS_ROW : PLH_ROWS_PART;
}

/* An empty line, or "(N rows)", ends them. */
static bool
is_end(PlhTextSpan line)
{
	PlhTextSpan rest = plh_text_span_trim(line);
	int64		number;

	return rest.bytes == 0 ||
		(plh_text_span_skip(&rest, "(") && plh_text_span_number(&rest, &number) &&
		 plh_text_span_begins(rest, " row"));
}

PlhRowsAnswer
plh_statistics_rows_take(PlhStatisticsRows *rows, PlhTextSpan line)
{
	if (is_record(line))
		return take_record(rows);
	if (!rows->in_quotes && !rows->is_expanded && read_head(rows, line))
		return PLH_ROWS_HEAD;
	if (!rows->is_active)
		return PLH_ROWS_NOT;
	if (!rows->in_quotes && is_end(line))
		return PLH_ROWS_END;
	if (rows->is_expanded)
		return take_expanded(rows, line);
	if (rows->separator == ',')
		return take_csv(rows, line);
	if (rows->separator == '|')
		line = without_border(line);
	return read_row(rows, line) ? PLH_ROWS_ROW : PLH_ROWS_PART;
}

bool
plh_statistics_rows_end(PlhStatisticsRows *rows)
{
	return rows->is_active && rows->is_expanded && is_row(rows);
}

/* The numbers of a path: that of the context itself, and of the one above it; 0: there is none. */
static void
read_path(PlhTextSpan path, int64 *own, int64 *parent)
{
	int64		number;

	*own = *parent = 0;
	while (path.bytes > 0)
	{
		if (!plh_text_span_number(&path, &number))
		{
			path = plh_text_span_behind(path, 1);
			continue;
		}
		*parent = *own;
		*own = number;
	}
}

/* Note the name of a context by its number, for those below it. */
static void
note_path(PlhStatisticsRows *rows, const PlhStatistics *statistics, int64 own)
{
	if (own <= 0 || own >= PLH_ROW_PATHS)
		return;
	for (int i = 0; i < statistics->name_count; i++)
		if (plh_text_span_is(rows->fields[PLH_ROW_NAME], statistics->names[i].name))
			rows->by_path[own] = i + 1;
}

/* The name of the context above. */
static void
find_parent(const PlhStatisticsRows *rows, const PlhStatistics *statistics, int64 number,
			char parent[PLH_STATISTICS_NAME_ROOM])
{
	const PlhStatisticsName *known = number <= 0 || number >= PLH_ROW_PATHS ? NULL :
		plh_statistics_name(statistics, rows->by_path[number] - 1);

	plh_text_span_copy(parent, PLH_STATISTICS_NAME_ROOM, rows->fields[PLH_ROW_PARENT]);
	if (known != NULL)
		strlcpy(parent, known->name, PLH_STATISTICS_NAME_ROOM);
}

void
plh_statistics_rows_add(PlhStatisticsRows *rows, PlhStatistics *statistics)
{
	int64		contexts = Max(1, number_of(rows->fields[PLH_ROW_CONTEXTS]));
	bool		has_path = rows->fields[PLH_ROW_PATH].bytes > 0;
	PlhContextLine line = {
		.kind = contexts > 1 ? PLH_CONTEXT_LINE_MORE : PLH_CONTEXT_LINE_ONE,
		.name = rows->fields[PLH_ROW_NAME],
		.ident = rows->fields[PLH_ROW_IDENT],
		.contexts = contexts,
		.total_bytes = number_of(rows->fields[PLH_ROW_TOTAL]),
		.free_bytes = Max(0, number_of(rows->fields[PLH_ROW_FREE])),
		.blocks = Max(0, number_of(rows->fields[PLH_ROW_BLOCKS])),
		.level = has_path ? -1 : number_of(rows->fields[PLH_ROW_LEVEL])
	};
	char		parent[PLH_STATISTICS_NAME_ROOM];
	int64		own;
	int64		above;

	read_path(rows->fields[PLH_ROW_PATH], &own, &above);
	find_parent(rows, statistics, above, parent);
	plh_statistics_add_row(statistics, &line, parent);
	note_path(rows, statistics, own);
	if (rows->is_expanded)
	{
		rows->used = 0;
		memset(rows->fields, 0, sizeof(rows->fields));
	}
}
