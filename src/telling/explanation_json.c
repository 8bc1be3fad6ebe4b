/*
 * explanation_json.c
 *	  The explanation of a process for programs: figures, findings and sentences.
 */
#include "postgres.h"

#include "report/json.h"
#include "telling/explanation_json.h"
#include "telling/finding_json.h"

/* Who it is, and how large. */
static void
put_process(StringInfo json, const PlhExplainedProcess *process, const PlhExplanation *explanation)
{
	plh_json_put_number(json, "pid", process->pid);
	plh_json_put_text(json, "backend_type", process->backend_type);
	plh_json_put_text(json, "username", process->username);
	plh_json_put_text(json, "database", process->database);
	plh_json_put_text(json, "application_name", process->application_name);
	plh_json_put_text(json, "state", process->state);
	plh_json_put_flag(json, "alive", process->image == NULL || process->image->alive);
	plh_json_put_if(json, "private_bytes", explanation->own_bytes >= 0, explanation->own_bytes);
	plh_json_put_if(json, "shared_bytes", process->rss_anon_bytes >= 0, process->rss_shared_bytes);
}

static void
put_contexts(StringInfo json, const PlhAccount *account, const PlhProfileImage *image)
{
	plh_json_key(json, "contexts");
	plh_json_open(json, '[');
	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		plh_json_open(json, '{');
		plh_json_put_text(json, "name", family->family != NULL ?
						  family->family->title : plh_account_name(family, image));
		plh_json_put_number(json, "bytes", family->bytes);
		plh_json_put_number(json, "instances", family->contexts);
		plh_json_put_flag(json, "lasting", family->lasting);
		plh_json_close(json, '}');
	}
	plh_json_close(json, ']');
}

/* What the process is made of, as it last counted itself. */
static void
put_account(StringInfo json, const PlhAccount *account, const PlhProfileImage *image)
{
	static const PlhAccount nothing;
	bool		counted = account != NULL && account->is_counted;
	const PlhAccount *shown = counted ? account : &nothing;

	plh_json_put_if(json, "context_bytes", counted, shown->context_bytes);
	plh_json_put_if(json, "malloc_bytes_outside", shown->knows_malloc, shown->outside_bytes);
	plh_json_put_if(json, "malloc_free_bytes", shown->knows_malloc, shown->freed_bytes);
	plh_json_put_if(json, "other_bytes", shown->knows_malloc, shown->other_bytes);
	if (counted)
		put_contexts(json, account, image);
}

void
plh_explanation_json_append(StringInfo json, const PlhExplainedProcess *process,
							const PlhExplanation *explanation, const char *names)
{
	plh_json_open(json, '{');
	put_process(json, process, explanation);
	put_account(json, explanation->account, process->image);
	plh_finding_json_put_all(json, explanation->told);
	plh_finding_json_put_doubt(json, explanation->doubt);
	plh_finding_json_put_text(json, &explanation->text);
	plh_json_put_text(json, "names", names);
	plh_json_close(json, '}');
}
