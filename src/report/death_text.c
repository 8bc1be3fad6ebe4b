/*
 * death_text.c
 *	  Says in words who a process was and how it died.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/timestamp.h"

#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/death_text.h"

/* The kind comes from a profile and may be any. */
char *
plh_death_text(const PlhDeath *death)
{
	switch (plh_death_kind(death))
	{
		case PLH_DEATH_UNKNOWN:
			break;
		case PLH_DEATH_SIGNAL:
			return psprintf("terminated by signal %d: %s", death->number,
							plh_database_text_fit(pg_strsignal(death->number)));
		case PLH_DEATH_EXIT_CODE:
			return psprintf("exited with exit code %d", death->number);
		case PLH_DEATH_WITH_PROCESS:
			return psprintf("ended with process %d", death->number);
	}
	return NULL;
}

/* Append what a process was of: by name, or else by OID; nothing without both. */
static void
append_name(StringInfo output, const char *what, const char *name, Oid oid,
			int encoding, const char *(*redact) (const char *name))
{
	const char *separator = output->len > 0 ? ", " : "";

	if (name[0] != '\0')
		appendStringInfo(output, "%s%s \"%s\"", separator, what,
						 redact(plh_database_text_fit_foreign(name, strlen(name), encoding)));
	else if (OidIsValid(oid))
		appendStringInfo(output, "%s%s with OID %u", separator, what, oid);
}

char *
plh_death_text_names(const PlhProfileHeader *header)
{
	StringInfoData names;

	initStringInfo(&names);
	append_name(&names, "user", header->role, header->role_oid,
				header->encoding, plh_redaction_role);
	append_name(&names, "database", header->database, header->database_oid,
				header->encoding, plh_redaction_database);
	append_name(&names, "application", header->application_name, InvalidOid,
				header->encoding, plh_redaction_application);
	return names.data;
}

const char *
plh_death_text_crash(const PlhProfileImage *image)
{
	const char *death = plh_death_text(&image->header->death);

	if (!image->crashed)
		return NULL;
	return death == NULL ? "crashed" : psprintf("crashed, %s", death);
}

char *
plh_death_text_of_crash(const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	const char *death = plh_death_text(&header->death);
	const char *names = plh_death_text_names(header);
	StringInfoData text;

	if (!image->crashed)
		return NULL;
	initStringInfo(&text);
	appendStringInfoString(&text, "crashed");
	if (header->death.at != 0)
		appendStringInfo(&text, " at %s", timestamptz_to_str(header->death.at));
	if (death != NULL)
		appendStringInfo(&text, ", %s", death);
	if (names[0] != '\0')
		appendStringInfo(&text, "; %s", names);
	return text.data;
}
