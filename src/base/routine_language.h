/*
 * routine_language.h
 *	  What a routine is written in.
 */
#pragma once

/* Stored in profiles, in 3 bits: append only. */
typedef enum PlhRoutineLanguage
{
	PLH_LANGUAGE_NONE,
	PLH_LANGUAGE_PLPGSQL,
	PLH_LANGUAGE_SQL,
	PLH_LANGUAGE_PERL,
	PLH_LANGUAGE_PYTHON
#define PLH_LANGUAGES (PLH_LANGUAGE_PYTHON + 1)
} PlhRoutineLanguage;

/* Returns the name of a language, in brackets, as it stands for a file; NULL: none. */
static inline const char *
plh_routine_language_name(uint32 language)
{
	static const char *const names[PLH_LANGUAGES] = {
		[PLH_LANGUAGE_PLPGSQL] = "[PL/pgSQL]",
		[PLH_LANGUAGE_SQL] = "[SQL]",
		[PLH_LANGUAGE_PERL] = "[PL/Perl]",
		[PLH_LANGUAGE_PYTHON] = "[PL/Python]"
	};

	return language < PLH_LANGUAGES ? names[language] : NULL;
}
