/*
 * page_process.c
 *	  What the page of a process or a dump says: one document of JSON.
 *
 * All figures are those of the views, of one snapshot: of the same image.  Bytes and numbers are as
 * there, times are microseconds since 1970 or, in arrays, since "origin".
 */
#include "postgres.h"

#include "base/sampling.h"
#include "judge/followed_parts.h"
#include "page/page_contexts.h"
#include "page/page_process.h"
#include "page/page_proof.h"
#include "page/page_sites.h"
#include "reader/redaction.h"
#include "report/blamed_code.h"
#include "report/context_list.h"
#include "report/death_text.h"
#include "report/json.h"
#include "report/words.h"
#include "telling/finding_json.h"

/*
 * What is kept for what stands behind the call sites: the course of 16 of them, the end of a row
 * that is too long, and the row of those that are one.
 */
#define COURSES_BYTES (100 * 1000)

/* Which process it is, and how it was sampled. */
static void
append_who(StringInfo json, const PlhPageSource *source)
{
	const PlhExplainedProcess *process = source->process;
	const PlhProfileHeader *header = process->image->header;

	plh_json_put_number(json, "pid", header->pid);
	plh_json_put_text(json, "backend_type", process->backend_type);
	plh_json_put_text(json, "file", source->file);
	plh_json_put_flag(json, "alive", process->image->alive);
	plh_json_put_text(json, "crash", plh_death_text_crash(process->image));
	plh_json_put_number(json, "pg_version", header->pg_version);
	plh_json_put_number(json, "sample_interval", header->sample_interval);
	plh_json_put_text(json, "sampling", plh_words_interval(header->sample_interval));
	plh_json_put_text(json, "scope", plh_site_list_scope(source->list));
	plh_json_put_flag(json, "malloc_tracked", header->malloc_tracked != 0);
	plh_json_put_zone(json, source->list->at);
	plh_json_put_time(json, "at", source->list->at);
	plh_json_put_time(json, "started_at", header->started_at);
	plh_json_put_time(json, "origin", header->started_at);
	plh_json_put_time(json, "baseline_at", process->baseline == NULL ? 0 :
					  process->baseline->taken_at);
	plh_json_put_time(json, "peak_at", header->peak_at);
	plh_json_put_time(json, "counted_at", header->census_at);
}

/* The figures of the process as a whole, as in pg_leakhunt_processes. */
static void
append_totals(StringInfo json, const PlhPageSource *source)
{
	const PlhExplainedProcess *process = source->process;
	const PlhProfileHeader *header = process->image->header;
	const PlhAccount *account = source->explanation->account;
	bool		counted = account->is_counted;
	bool		has_malloc = counted && account->knows_malloc;

	plh_json_put_open(json, "totals", '{');
	plh_json_put_if(json, "own_bytes", source->explanation->own_bytes >= 0,
					source->explanation->own_bytes);
	plh_json_put_number(json, "live_bytes", header->counters.live_bytes);
	plh_json_put_number(json, "live_count", header->counters.live_count);
	plh_json_put_number(json, "error_bytes", (int64) plh_profile_image_live_error_bytes(header));
	plh_json_put_number(json, "peak_bytes", header->peak_bytes);
	plh_json_put_number(json, "total_bytes", header->counters.total_bytes);
	plh_json_put_number(json, "samples_live", header->counters.live_samples);
	plh_json_put_number(json, "samples_taken", header->samples_taken);
	plh_json_put_if(json, "context_bytes", counted, header->context_bytes);
	plh_json_put_if(json, "context_free_bytes", counted && header->context_free_bytes >= 0,
					header->context_free_bytes);
	plh_json_put_if(json, "malloc_bytes", has_malloc, header->malloc_bytes);
	plh_json_put_if(json, "outside_bytes", has_malloc, account->outside_bytes);
	plh_json_put_if(json, "malloc_free_bytes", has_malloc, account->freed_bytes);
	plh_json_put_if(json, "other_bytes", has_malloc, account->other_bytes);
	plh_json_put_if(json, "counted_own_bytes", counted, account->own_bytes);
	plh_json_close(json, '}');
}

/* A figure of each point of the history, which stands at that offset of a point. */
static void
append_series(StringInfo json, const char *key, const PlhProfileHeader *header, Size offset)
{
	plh_json_put_open(json, key, '[');
	for (uint32 i = 0; i < Min(header->history_count, PLH_HISTORY_POINTS); i++)
	{
		int64		figure = *(const int64 *) ((const char *) &header->history[i] + offset);

		plh_json_if(json, figure >= 0, figure);
	}
	plh_json_close(json, ']');
}

/* What the process held over time, as in pg_leakhunt_history. */
static void
append_history(StringInfo json, const PlhProfileHeader *header)
{
	int			points = Min(header->history_count, PLH_HISTORY_POINTS);

	plh_json_put_open(json, "history", '{');
	plh_json_put_open(json, "at", '[');
	for (int i = 0; i < points; i++)
	{
		int64		at = header->history[i].at - header->started_at;

		plh_json_if(json, at >= 0, at);
	}
	plh_json_close(json, ']');
	append_series(json, "own", header, offsetof(PlhHistoryPoint, own_bytes));
	append_series(json, "live", header, offsetof(PlhHistoryPoint, live_bytes));
	append_series(json, "contexts", header, offsetof(PlhHistoryPoint, context_bytes));
	append_series(json, "malloc", header, offsetof(PlhHistoryPoint, malloc_bytes));
	append_series(json, "malloc_free", header, offsetof(PlhHistoryPoint, malloc_free_bytes));
	plh_json_put_open(json, "live_error", '[');
	for (int i = 0; i < points; i++)
		plh_json_number(json, plh_sampling_most_error_bytes(Max(0, header->history[i].live_bytes),
															header->sample_interval));
	plh_json_close(json, ']');
	plh_json_close(json, '}');
}

/* What a part held at each point; null where it was not followed. */
static void
append_part_series(StringInfo json, const PlhFollowedPart *part, int points)
{
	plh_json_put_open(json, "bytes", '[');
	for (int i = 0; i < points; i++)
		plh_json_if(json, plh_followed_parts_bytes(part, i) >= 0,
					plh_followed_parts_bytes(part, i));
	plh_json_close(json, ']');
}

/*
 * The part of the server that memory of a family is of, which has a colour of its own;
 * PLH_CODE_NONE of any other.
 */
static PlhCodePart
part_of(const PlhFamily *family)
{
	static const PlhCodePart parts[] = {
		[PLH_FAMILY_CACHE] = PLH_CODE_CACHES,
		[PLH_FAMILY_PLANS] = PLH_CODE_CACHES,
		[PLH_FAMILY_DECODING] = PLH_CODE_REPLICATION,
		[PLH_FAMILY_NODES] = PLH_CODE_EXECUTOR,
		[PLH_FAMILY_EXECUTOR] = PLH_CODE_EXECUTOR
	};

	return family == NULL || family->kind >= lengthof(parts) ? PLH_CODE_NONE : parts[family->kind];
}

/* The families over time: pg_leakhunt_history(pid, by => 'family'). */
static void
append_families(StringInfo json, const PlhProfileImage *image)
{
	const PlhFollowedParts *parts = plh_followed_parts_make(image, PLH_COURSE_CONTEXTS);

	plh_json_put_open(json, "families", '[');
	for (int i = 0; i < parts->count; i++)
	{
		const PlhFollowedPart *part = &parts->parts[i];

		plh_json_open(json, '{');
		plh_json_put_text(json, "name", part->family != NULL ? part->family->title :
						  plh_context_list_name(image, part->context_name));
		plh_json_put_number(json, "part", part_of(part->family));
		append_part_series(json, part, parts->point_count);
		plh_json_close(json, '}');
	}
	plh_json_close(json, ']');
}

/* The rows of the sites that a part consists of, which differ in the statement. */
static void
append_rows_of(StringInfo json, const PlhFollowedPart *part,
			   const PlhProfileImage *image, const PlhPageSites *sites)
{
	plh_json_put_open(json, "sites", '[');
	for (int i = 0; i < part->course_count; i++)
	{
		const PlhSiteRecord *site = plh_profile_image_site(image, part->courses[i]->followed);

		plh_json_number(json, plh_page_sites_row(sites, site));
	}
	plh_json_close(json, ']');
}

/* What each of its sites held at each point, as one may be followed longer than others. */
static void
append_courses_of(StringInfo json, const PlhFollowedPart *part, int points)
{
	plh_json_put_open(json, "courses", '[');
	for (int i = 0; i < part->course_count; i++)
	{
		plh_json_open(json, '[');
		for (int point = 0; point < points; point++)
		{
			uint32		stored = part->courses[i]->kilobytes[point];

			plh_json_if(json, stored != 0, ((int64) stored - 1) * 1024);
		}
		plh_json_close(json, ']');
	}
	plh_json_close(json, ']');
}

/* The sites over time: pg_leakhunt_history(pid, by => 'site'). */
static void
append_courses(StringInfo json, const PlhProfileImage *image, const PlhPageSites *sites)
{
	const PlhFollowedParts *parts = plh_followed_parts_make(image, PLH_COURSE_SITE);

	plh_json_put_open(json, "followed_sites", '[');
	for (int i = 0; i < parts->count; i++)
	{
		plh_json_open(json, '{');
		append_rows_of(json, &parts->parts[i], image, sites);
		append_courses_of(json, &parts->parts[i], parts->point_count);
		plh_json_close(json, '}');
	}
	plh_json_close(json, ']');
}

char *
plh_page_process_title(const PlhPageSource *source)
{
	return psprintf("%s%s", plh_site_list_title(source->list),
					source->file == NULL ? "" : psprintf(", %s", source->file));
}

void
plh_page_process_append(StringInfo json, const PlhPageSource *source, Size most_bytes)
{
	const PlhExplainedProcess *process = source->process;
	const PlhProfileImage *image = process->image;
	PlhPageSites *sites = plh_page_sites_begin(image->header->started_at);

	plh_json_open(json, '{');
	plh_json_put_text(json, "kind", "process");
	plh_json_put_flag(json, "redacted", plh_redaction_is_on());
	plh_json_put_text(json, "title", plh_page_process_title(source));
	append_who(json, source);
	append_totals(json, source);
	plh_json_key(json, "explanation");
	plh_finding_json_put_explanation(json, process, source->explanation, NULL);
	plh_finding_json_put_verdicts(json);
	plh_json_key(json, "unseen");
	plh_page_sites_append_unseen(json, image, source->explanation->account);
	append_history(json, image->header);
	append_families(json, image);
	plh_page_contexts_append(json, image, process->baseline);
	plh_json_key(json, "proof");
	plh_page_proof_append(json, image);
	plh_page_sites_add_list(sites, source->list,
							most_bytes - Min(most_bytes, json->len + COURSES_BYTES));
	append_courses(json, image, sites);
	plh_page_sites_append(json, sites);
	plh_json_close(json, '}');
}

char *
plh_page_process_unprofiled_title(const PlhExplainedProcess *process)
{
	return psprintf("%s %d", process->backend_type == NULL ? "process" : process->backend_type,
					process->pid);
}

void
plh_page_process_append_unprofiled(StringInfo json, const PlhExplainedProcess *process,
								   const PlhExplanation *explanation)
{
	plh_json_open(json, '{');
	plh_json_put_text(json, "kind", "unprofiled");
	plh_json_put_flag(json, "redacted", plh_redaction_is_on());
	plh_json_put_text(json, "title", plh_page_process_unprofiled_title(process));
	plh_json_put_number(json, "pid", process->pid);
	plh_json_put_text(json, "file", NULL);
	plh_json_put_number(json, "pg_version", PG_VERSION_NUM);
	plh_json_put_zone(json, process->now);
	plh_json_put_time(json, "at", process->now);
	plh_json_key(json, "explanation");
	plh_finding_json_put_explanation(json, process, explanation, NULL);
	plh_finding_json_put_verdicts(json);
	plh_json_close(json, '}');
}
