/*
 * oom_report.c
 *	  What the kernel logs when it kills a process for want of memory: whom, at which limit, and a
 *	  table of all processes.
 *
 * The table is in pages of 4 kB on all platforms that matter here.  Its columns differ by release
 * of the kernel, so that they are found by the names in its head: rss has shared memory in it, and
 * only since 6.8 it is told apart.
 */
#include "postgres.h"

#include "statistics/oom_report.h"

#define PAGE_BYTES 4096

static int64
pages(int64 count)
{
	return Min(count, PG_INT64_MAX / 8 / PAGE_BYTES) * PAGE_BYTES;
}

static int64
kilobytes(int64 count)
{
	return Min(count, PG_INT64_MAX / 8 / 1024) * 1024;
}

static int64
sum(int64 left, int64 right)
{
	return left > PG_INT64_MAX / 4 - right ? PG_INT64_MAX / 4 : left + right;
}

/* The figure behind a word, in kB.  -1: it is not there. */
static int64
figure_behind(PlhTextSpan line, const char *word)
{
	ssize_t		found = plh_text_span_find(line, word, 0);
	PlhTextSpan rest;
	int64		number;

	if (found < 0)
		return -1;
	rest = plh_text_span_behind(line, found + strlen(word));
	return plh_text_span_number(&rest, &number) ? kilobytes(number) : -1;
}

/* The next word of a line; empty at its end. */
static PlhTextSpan
next_word(PlhTextSpan *rest)
{
	PlhTextSpan word;

	*rest = plh_text_span_trim(*rest);
	word = plh_text_span_first(*rest, 0);
	while (word.bytes < rest->bytes && !plh_text_span_is_blank(word.data[word.bytes]))
		word.bytes++;
	*rest = plh_text_span_behind(*rest, word.bytes);
	return word;
}

/* A new report, behind one that is complete, forgets all but how many there were. */
static void
begin(PlhOomReport *report)
{
	int64		count = report->count;

	memset(report, 0, sizeof(*report));
	report->count = count + 1;
	report->killed_anon_bytes = report->killed_file_bytes = report->killed_shmem_bytes = -1;
}

static void
begin_if_new(PlhOomReport *report)
{
	if (report->count == 0 || report->is_killed)
		begin(report);
}

/* What stands behind a bracket: "[  pid  ]   uid  tgid ...", or "[   4711]    70 ...". */
static bool
find_row(PlhTextSpan line, bool is_head, PlhTextSpan *row)
{
	for (Size i = 0; i < line.bytes; i++)
	{
		PlhTextSpan rest = plh_text_span_behind(line, i);
		int64		pid;

		if (!plh_text_span_skip(&rest, "["))
			continue;
		rest = plh_text_span_trim(rest);
		if (!(is_head ? plh_text_span_skip(&rest, "pid") : plh_text_span_number(&rest, &pid)))
			continue;
		rest = plh_text_span_trim(rest);
		if (!plh_text_span_skip(&rest, "]"))
			continue;
		*row = plh_text_span_trim(rest);
		if (is_head ? plh_text_span_begins(*row, "uid") :
			row->bytes > 0 && isdigit((unsigned char) row->data[0]))
			return true;
	}
	return false;
}

/* Read the head of the table.  False: the line is none. */
static bool
read_head(PlhOomReport *report, PlhTextSpan line)
{
	PlhOomColumns *columns = &report->columns;
	PlhTextSpan rest;
	PlhTextSpan word;

	if (!find_row(line, true, &rest))
		return false;
	begin_if_new(report);
	*columns = (PlhOomColumns)
	{
		0, -1, -1, -1, -1, -1
	};
	while ((word = next_word(&rest)).bytes > 0 && columns->count < PLH_OOM_COLUMNS)
	{
		int			index = columns->count++;

		if (plh_text_span_is(word, "tgid"))
			columns->tgid = index;
		else if (plh_text_span_is(word, "rss"))
			columns->rss = index;
		else if (plh_text_span_is(word, "rss_anon"))
			columns->rss_anon = index;
		else if (plh_text_span_is(word, "rss_shmem"))
			columns->rss_shmem = index;
		else if (plh_text_span_is(word, "swapents"))
			columns->swap = index;
	}
	report->tells_apart = columns->rss_anon >= 0 && columns->rss_shmem >= 0;
	return true;
}

static int64
column(const int64 *figures, int index)
{
	return index < 0 ? 0 : figures[index];
}

static void
add_process(PlhOomSum *to, const PlhOomColumns *columns, const int64 *figures, PlhTextSpan name)
{
	int64		rss = pages(column(figures, columns->rss));
	int64		own = columns->rss_anon >= 0 ? pages(column(figures, columns->rss_anon)) : rss;

	to->processes++;
	to->rss_bytes = sum(to->rss_bytes, rss);
	to->anon_bytes = sum(to->anon_bytes, pages(column(figures, columns->rss_anon)));
	to->most_shmem_bytes = Max(to->most_shmem_bytes, pages(column(figures, columns->rss_shmem)));
	to->swapped_bytes = sum(to->swapped_bytes, pages(column(figures, columns->swap)));
	if (own <= to->largest_bytes)
		return;
	to->largest_bytes = own;
	to->largest_pid = column(figures, columns->tgid);
	plh_text_span_copy(to->largest_name, sizeof(to->largest_name), name);
}

/* The server's processes have one of these names, whatever their title is. */
static bool
is_of_server(PlhTextSpan name)
{
	return plh_text_span_is(name, "postgres") || plh_text_span_is(name, "postmaster");
}

/* The number that stands in the first bracket of a row; -1: there is none. */
static int64
pid_of_row(PlhTextSpan line, PlhTextSpan row)
{
	PlhTextSpan before = plh_text_span_first(line, row.data - line.data);
	int64		pid = -1;

	while (before.bytes > 0)
	{
		PlhTextSpan rest = before;

		if (plh_text_span_skip(&rest, "["))
		{
			rest = plh_text_span_trim(rest);
			(void) plh_text_span_number(&rest, &pid);
		}
		before = plh_text_span_behind(before, 1);
	}
	return pid;
}

/*
 * Where the head was cut off, a row tells which kernel wrote it: by how many figures it has, of
 * which the second is the pid again.  rss is the fourth in all of them.
 */
static void
guess_columns(PlhOomReport *report, PlhTextSpan line, PlhTextSpan row)
{
	int64		pid = pid_of_row(line, row);
	int64		figures[PLH_OOM_COLUMNS] = {0};
	int			count = 0;
	PlhTextSpan word;

	for (word = next_word(&row); count < PLH_OOM_COLUMNS && word.bytes > 0; word = next_word(&row))
	{
		(void) plh_text_span_skip(&word, "-");
		if (!plh_text_span_number(&word, &figures[count]) || word.bytes > 0)
			break;
		count++;
	}
	if ((count != 7 && count != 8 && count != 10) || word.bytes == 0 || figures[1] != pid)
		return;
	begin_if_new(report);
	report->columns = (PlhOomColumns)
	{
		count + 1, 1, 3, count == 10 ? 4 : -1, count == 10 ? 6 : -1, count - 2
	};
	report->tells_apart = count == 10;
	report->has_no_head = true;
}

/* Read a row of the table: as many figures as its head has columns, and a name. */
static bool
read_row(PlhOomReport *report, PlhTextSpan line)
{
	const PlhOomColumns *columns = &report->columns;
	int64		figures[PLH_OOM_COLUMNS] = {0};
	PlhTextSpan rest;

	if (!find_row(line, false, &rest))
		return false;
	if (columns->count == 0)
		guess_columns(report, line, rest);
	if (columns->count < 2 || columns->rss < 0)
		return false;
	for (int i = 0; i < columns->count - 1; i++)
	{
		PlhTextSpan word = next_word(&rest);
		bool		is_negative = plh_text_span_skip(&word, "-");

		if (!plh_text_span_number(&word, &figures[i]))
			return false;
		figures[i] = is_negative ? 0 : figures[i];
	}
	rest = plh_text_span_trim(rest);
	add_process(is_of_server(rest) ? &report->server : &report->others, columns,
				figures, rest);
	return true;
}

/* "memory: usage NkB, limit NkB, failcnt N", of a control group. */
static bool
read_usage(PlhOomReport *report, PlhTextSpan line)
{
	int64		usage = figure_behind(line, "memory: usage ");

	if (usage < 0 || plh_text_span_find(line, "kB, limit ", 0) < 0)
		return false;
	begin_if_new(report);
	report->usage_bytes = usage;
	report->limit_bytes = figure_behind(line, "kB, limit ");
	report->of_group = true;
	return true;
}

/* "oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/NAME,task_memcg=..." */
static bool
read_constraint(PlhOomReport *report, PlhTextSpan line)
{
	ssize_t		group = plh_text_span_find(line, "oom_memcg=", 0);
	PlhTextSpan name;
	ssize_t		end;

	if (plh_text_span_find(line, "oom-kill:constraint=", 0) < 0)
		return false;
	begin_if_new(report);
	report->of_group |= plh_text_span_find(line, "CONSTRAINT_MEMCG", 0) >= 0;
	report->of_machine |= plh_text_span_find(line, "CONSTRAINT_NONE", 0) >= 0;
	if (group < 0)
		return true;
	name = plh_text_span_behind(line, group + strlen("oom_memcg="));
	end = plh_text_span_find(name, ",", 0);
	plh_text_span_copy(report->group, sizeof(report->group),
					   end < 0 ? name : plh_text_span_first(name, end));
	return true;
}

/* Read those figures of the killed process that the line has and that are not known yet. */
static void
read_killed_figures(PlhOomReport *report, PlhTextSpan line)
{
	if (report->killed_anon_bytes < 0)
		report->killed_anon_bytes = figure_behind(line, "anon-rss:");
	if (report->killed_file_bytes < 0)
		report->killed_file_bytes = figure_behind(line, "file-rss:");
	if (report->killed_shmem_bytes < 0)
		report->killed_shmem_bytes = figure_behind(line, "shmem-rss:");
}

/* Skip what is between a pid and a name in brackets: nothing, or in old kernels a user's id. */
static bool
skip_to_name(PlhTextSpan *rest)
{
	int64		user;

	if (plh_text_span_skip(rest, ", UID ") &&
		!(plh_text_span_number(rest, &user) && plh_text_span_skip(rest, ",")))
		return false;
	return plh_text_span_skip(rest, " (");
}

/*
 * "Killed process N (NAME) total-vm:NkB, anon-rss:NkB, file-rss:NkB, shmem-rss:NkB".  Where
 * somebody has wrapped it, figures come in the lines behind it.
 */
static bool
read_killed(PlhOomReport *report, PlhTextSpan line)
{
	ssize_t		found = plh_text_span_find(line, "Killed process ", 0);
	PlhTextSpan rest;
	ssize_t		end;
	int64		pid;

	if (found < 0)
		return false;
	rest = plh_text_span_behind(line, found + strlen("Killed process "));
	if (!plh_text_span_number(&rest, &pid) || !skip_to_name(&rest))
		return false;
	begin_if_new(report);
	report->of_group |= plh_text_span_find(line, "emory cgroup out of memory", 0) >= 0;
	report->of_machine |= plh_text_span_find(line, "Out of memory: Kill", 0) >= 0;
	report->killed_pid = pid;
	end = plh_text_span_find(rest, ")", 0);
	if (end > 0)
		plh_text_span_copy(report->killed_name, sizeof(report->killed_name),
						   plh_text_span_first(rest, end));
	read_killed_figures(report, line);
	report->is_killed = true;
	return true;
}

/* "NAME invoked oom-killer: ..." begins a report, in most kernels; people leave out the rest. */
static bool
read_begin(PlhOomReport *report, PlhTextSpan line)
{
	if (plh_text_span_find(line, " invoked oom-killer", 0) < 0)
		return false;
	begin(report);
	return true;
}

void
plh_oom_report_take(PlhOomReport *report, PlhTextSpan line)
{
	if (read_begin(report, line) || read_usage(report, line) || read_constraint(report, line) ||
		read_killed(report, line) || read_head(report, line))
		return;

	/*
	 * what a process has left after its memory was taken away is not what it
	 * had
	 */
	if (plh_text_span_find(line, "reaped process ", 0) >= 0)
		return;
	if (report->is_killed && (report->killed_anon_bytes < 0 || report->killed_shmem_bytes < 0))
		read_killed_figures(report, line);
	(void) read_row(report, line);
}
