/*
 * statement_text.c
 *	  What is kept of a statement's text, which may hold passwords.
 *
 * Each text of a statement that pg_leakhunt keeps or shows has passed this file.
 *
 * This code runs inside palloc, where nothing can be parsed.  So it reads tokens, and doubt costs
 * text: what follows a command that is not known, or a string whose end is not certain, is left
 * out.  What is kept must be known to hold no secret: "commands" lists what is known.
 */
#include "postgres.h"

#include <limits.h>

#include "profile/statement_text.h"
#include "profile/statement_tokens.h"

/* What may be kept of the texts of a kind of statements. */
typedef enum Treatment
{
	TREATMENT_SECRET,			/* its first words only, and no literals or
								 * comments around it */
	TREATMENT_HIDDEN,			/* its first words only */
	TREATMENT_ARGUMENTS,		/* without literals */
	TREATMENT_UTILITY,			/* without strings */
	TREATMENT_CODE,				/* whole, if its string is harmless */
	TREATMENT_DATA				/* whole */
} Treatment;

typedef struct Command
{
	const char *words;			/* upper case, a blank between */
	Treatment	treatment;
} Command;

/*
 * The first words of commands.  The first entry that fits counts, so more words stand before fewer.
 * What is not listed is a secret, and its first word is not shown.
 *
 * TREATMENT_DATA is for what pg_stat_statements would call planned.  No string of any other command
 * is kept: those of EXECUTE and CALL go to statements that cannot be seen here.
 */
static const Command commands[] = {
	{"SELECT", TREATMENT_DATA},
	{"INSERT", TREATMENT_DATA},
	{"UPDATE", TREATMENT_DATA},
	{"DELETE", TREATMENT_DATA},
	{"WITH", TREATMENT_DATA},
	{"MERGE", TREATMENT_DATA},
	{"VALUES", TREATMENT_DATA},
	{"TABLE", TREATMENT_DATA},
	{"DECLARE", TREATMENT_DATA},
	{"PREPARE TRANSACTION", TREATMENT_UTILITY},
	{"PREPARE", TREATMENT_DATA},
	{"EXPLAIN", TREATMENT_DATA},
	{"FETCH", TREATMENT_DATA},
	{"MOVE", TREATMENT_DATA},
	{"DO", TREATMENT_CODE},
	{"EXECUTE", TREATMENT_ARGUMENTS},
	{"CALL", TREATMENT_ARGUMENTS},

	{"CREATE ROLE", TREATMENT_SECRET},
	{"CREATE USER MAPPING", TREATMENT_SECRET},
	{"CREATE USER", TREATMENT_SECRET},
	{"CREATE GROUP", TREATMENT_SECRET},
	{"CREATE SUBSCRIPTION", TREATMENT_SECRET},
	{"CREATE SERVER", TREATMENT_SECRET},
	{"CREATE FOREIGN DATA WRAPPER", TREATMENT_SECRET},
	{"CREATE FOREIGN TABLE", TREATMENT_SECRET},
	{"CREATE FUNCTION", TREATMENT_HIDDEN},
	{"CREATE PROCEDURE", TREATMENT_HIDDEN},
	{"CREATE ACCESS METHOD", TREATMENT_UTILITY},
	{"CREATE AGGREGATE", TREATMENT_UTILITY},
	{"CREATE CAST", TREATMENT_UTILITY},
	{"CREATE COLLATION", TREATMENT_UTILITY},
	{"CREATE CONVERSION", TREATMENT_UTILITY},
	{"CREATE DATABASE", TREATMENT_UTILITY},
	{"CREATE DOMAIN", TREATMENT_UTILITY},
	{"CREATE EXTENSION", TREATMENT_UTILITY},
	{"CREATE INDEX", TREATMENT_UTILITY},
	{"CREATE LANGUAGE", TREATMENT_UTILITY},
	{"CREATE OPERATOR", TREATMENT_UTILITY},
	{"CREATE POLICY", TREATMENT_UTILITY},
	{"CREATE PROPERTY GRAPH", TREATMENT_UTILITY},
	{"CREATE PUBLICATION", TREATMENT_UTILITY},
	{"CREATE RULE", TREATMENT_UTILITY},
	{"CREATE SCHEMA", TREATMENT_UTILITY},
	{"CREATE SEQUENCE", TREATMENT_UTILITY},
	{"CREATE STATISTICS", TREATMENT_UTILITY},
	{"CREATE TABLE", TREATMENT_UTILITY},
	{"CREATE TABLESPACE", TREATMENT_UTILITY},
	{"CREATE TEXT SEARCH", TREATMENT_UTILITY},
	{"CREATE TRANSFORM", TREATMENT_UTILITY},
	{"CREATE TRIGGER", TREATMENT_UTILITY},
	{"CREATE TYPE", TREATMENT_UTILITY},
	{"CREATE VIEW", TREATMENT_UTILITY},
	{"CREATE", TREATMENT_SECRET},

	{"ALTER ROLE", TREATMENT_SECRET},
	{"ALTER USER MAPPING", TREATMENT_SECRET},
	{"ALTER USER", TREATMENT_SECRET},
	{"ALTER GROUP", TREATMENT_SECRET},
	{"ALTER SUBSCRIPTION", TREATMENT_SECRET},
	{"ALTER SERVER", TREATMENT_SECRET},
	{"ALTER FOREIGN DATA WRAPPER", TREATMENT_SECRET},
	{"ALTER FOREIGN TABLE", TREATMENT_SECRET},
	{"ALTER SYSTEM", TREATMENT_SECRET},
	{"ALTER DATABASE", TREATMENT_SECRET},
	{"ALTER FUNCTION", TREATMENT_SECRET},
	{"ALTER PROCEDURE", TREATMENT_SECRET},
	{"ALTER ROUTINE", TREATMENT_SECRET},
	{"ALTER AGGREGATE", TREATMENT_UTILITY},
	{"ALTER COLLATION", TREATMENT_UTILITY},
	{"ALTER CONVERSION", TREATMENT_UTILITY},
	{"ALTER DOMAIN", TREATMENT_UTILITY},
	{"ALTER EXTENSION", TREATMENT_UTILITY},
	{"ALTER INDEX", TREATMENT_UTILITY},
	{"ALTER LANGUAGE", TREATMENT_UTILITY},
	{"ALTER LARGE OBJECT", TREATMENT_UTILITY},
	{"ALTER OPERATOR", TREATMENT_UTILITY},
	{"ALTER POLICY", TREATMENT_UTILITY},
	{"ALTER PRIVILEGES", TREATMENT_UTILITY},
	{"ALTER PROPERTY GRAPH", TREATMENT_UTILITY},
	{"ALTER PUBLICATION", TREATMENT_UTILITY},
	{"ALTER RULE", TREATMENT_UTILITY},
	{"ALTER SCHEMA", TREATMENT_UTILITY},
	{"ALTER SEQUENCE", TREATMENT_UTILITY},
	{"ALTER STATISTICS", TREATMENT_UTILITY},
	{"ALTER TABLE", TREATMENT_UTILITY},
	{"ALTER TABLESPACE", TREATMENT_UTILITY},
	{"ALTER TEXT SEARCH", TREATMENT_UTILITY},
	{"ALTER TRIGGER", TREATMENT_UTILITY},
	{"ALTER TYPE", TREATMENT_UTILITY},
	{"ALTER VIEW", TREATMENT_UTILITY},
	{"ALTER", TREATMENT_SECRET},

	{"SET CONSTRAINTS", TREATMENT_UTILITY},
	{"SET TRANSACTION", TREATMENT_UTILITY},
	{"SET", TREATMENT_HIDDEN},

	{"ABORT", TREATMENT_UTILITY},
	{"ANALYSE", TREATMENT_UTILITY},
	{"ANALYZE", TREATMENT_UTILITY},
	{"BEGIN", TREATMENT_UTILITY},
	{"CHECKPOINT", TREATMENT_UTILITY},
	{"CLOSE", TREATMENT_UTILITY},
	{"CLUSTER", TREATMENT_UTILITY},
	{"COMMENT ON", TREATMENT_UTILITY},
	{"COMMIT", TREATMENT_UTILITY},
	{"COPY", TREATMENT_UTILITY},
	{"DEALLOCATE", TREATMENT_UTILITY},
	{"DISCARD", TREATMENT_UTILITY},
	{"DROP", TREATMENT_UTILITY},
	{"END", TREATMENT_UTILITY},
	{"GRANT", TREATMENT_UTILITY},
	{"IMPORT FOREIGN SCHEMA", TREATMENT_UTILITY},
	{"LISTEN", TREATMENT_UTILITY},
	{"LOAD", TREATMENT_UTILITY},
	{"LOCK", TREATMENT_UTILITY},
	{"NOTIFY", TREATMENT_UTILITY},
	{"REASSIGN OWNED", TREATMENT_UTILITY},
	{"REFRESH", TREATMENT_UTILITY},
	{"REINDEX", TREATMENT_UTILITY},
	{"RELEASE", TREATMENT_UTILITY},
	{"REPACK", TREATMENT_UTILITY},
	{"RESET", TREATMENT_UTILITY},
	{"REVOKE", TREATMENT_UTILITY},
	{"ROLLBACK", TREATMENT_UTILITY},
	{"SAVEPOINT", TREATMENT_UTILITY},
	{"SECURITY LABEL", TREATMENT_UTILITY},
	{"SHOW", TREATMENT_UTILITY},
	{"START TRANSACTION", TREATMENT_UTILITY},
	{"TRUNCATE", TREATMENT_UTILITY},
	{"UNLISTEN", TREATMENT_UTILITY},
	{"VACUUM", TREATMENT_UTILITY},
	{"WAIT FOR", TREATMENT_UTILITY},

	/* of WAL senders */
	{"BASE_BACKUP", TREATMENT_UTILITY},
	{"IDENTIFY_SYSTEM", TREATMENT_UTILITY},
	{"CREATE_REPLICATION_SLOT", TREATMENT_UTILITY},
	{"ALTER_REPLICATION_SLOT", TREATMENT_UTILITY},
	{"DROP_REPLICATION_SLOT", TREATMENT_UTILITY},
	{"READ_REPLICATION_SLOT", TREATMENT_UTILITY},
	{"START_REPLICATION", TREATMENT_UTILITY},
	{"TIMELINE_HISTORY", TREATMENT_UTILITY},
	{"UPLOAD_MANIFEST", TREATMENT_UTILITY}
};

/* These may stand between the words of CREATE and ALTER. */
static const char *const modifiers[] = {
	"OR", "REPLACE", "TEMP", "TEMPORARY", "UNLOGGED", "GLOBAL", "LOCAL", "UNIQUE",
	"RECURSIVE", "MATERIALIZED", "TRUSTED", "PROCEDURAL", "CONSTRAINT", "EVENT",
	"DEFAULT"
};

/* Stand for a literal, for a name that may be one, and for the rest of a command. */
#define LEFT_OUT_LITERAL "'?'"
#define LEFT_OUT_NAME "\"?\""
#define LEFT_OUT_REST "..."

/*
 * Where one of these occurs, in a literal, a comment or a name, no literal and no comment of the
 * text is kept.  Lower case.
 */
static const char *const secret_words[] = {
	"passw", "passphrase", "pass=", "pwd", "secret", "credential", "conninfo", "crypt",
	"sslkey", "scram-sha", "token", "api_key", "apikey", "private_key", "privatekey",
	"bearer", "://"
};

/*
 * What the code of DO makes statements by, of strings that may be put together, and what its own
 * statements may have secrets behind.  Lower case.
 */
static const char *const dynamic_words[] = {
	"exec", "create", "alter", "options", "program", "connection"
};

/* Behind these words, and semicolons, a statement of such code begins. */
static const char *const starting_words[] = {"BEGIN", "THEN", "ELSE", "LOOP"};

/* A text that is read, and what is kept of it. */
typedef struct Reading
{
	const char *at;
	const char *end;
	char	   *to;
	char	   *to_end;
	bool		is_strict;		/* there is a secret in it: no literal, no
								 * comment */
	bool		has_secret;		/* found while it was read */
	bool		is_over;		/* the rest cannot be understood */
} Reading;

static bool
is_modifier(const PlhToken *token)
{
	for (int i = 0; i < lengthof(modifiers); i++)
	{
		if (plh_statement_tokens_is_word(token, modifiers[i]))
			return true;
	}
	return false;
}

/* Returns where the words end, from a token on; NULL if others stand there. */
static const char *
words_end(PlhToken token, const char *words, const char *end)
{
	if (!plh_statement_tokens_is_word(&token, words))
		return NULL;
	while ((words = strchr(words, ' ')) != NULL)
	{
		words++;
		do
		{
			if (!plh_statement_tokens_read_next(&token, token.end, end))
				return NULL;
		} while (!plh_statement_tokens_is_word(&token, words) && is_modifier(&token));
		if (!plh_statement_tokens_is_word(&token, words))
			return NULL;
	}
	return token.end;
}

/* Find the command that a token begins, and where its words end; NULL if none. */
static const Command *
find_command(const PlhToken *token, const char *end, const char **command_end)
{
	for (int i = 0; i < lengthof(commands); i++)
	{
		*command_end = words_end(*token, commands[i].words, end);
		if (*command_end != NULL)
			return &commands[i];
	}
	return NULL;
}

/* Does a text begin with a word, which is in lower case? */
static bool
begins_with(const char *at, const char *end, const char *word)
{
	while (*word != '\0' && at < end && plh_statement_tokens_lower(*at) == *word)
	{
		at++;
		word++;
	}
	return *word == '\0';
}

static bool
has_any(const char *at, const char *end, const char *const *words, int count)
{
	for (; at < end; at++)
	{
		for (int i = 0; i < count; i++)
		{
			if (plh_statement_tokens_lower(*at) == words[i][0] && begins_with(at, end, words[i]))
				return true;
		}
	}
	return false;
}

/*
 * Does a secret word stand there?  All bytes of a text are asked for, so most must be done with by
 * their first two.
 */
static bool
is_secret_word(const char *at, const char *end)
{
	/* a bit for each letter that a word begins with, and those that follow it */
	static const uint8 first[UCHAR_MAX + 1] = {
		['p'] = 1,['P'] = 1,['s'] = 2,['S'] = 2,['c'] = 4,['C'] = 4,
		['t'] = 8,['T'] = 8,['a'] = 16,['A'] = 16,['b'] = 32,['B'] = 32,[':'] = 64
	};
	static const uint8 second[UCHAR_MAX + 1] = {
		['a'] = 1,['A'] = 1,['w'] = 1,['W'] = 1,['r'] = 1 | 4,['R'] = 1 | 4,
		['e'] = 2 | 32,['E'] = 2 | 32,['s'] = 2,['S'] = 2,['c'] = 2,['C'] = 2,
		['o'] = 4 | 8,['O'] = 4 | 8,['p'] = 16,['P'] = 16,['/'] = 64
	};

	if ((first[(unsigned char) at[0]] & second[(unsigned char) at[1]]) == 0)
		return false;
	for (int i = 0; i < lengthof(secret_words); i++)
	{
		if (begins_with(at, end, secret_words[i]))
			return true;
	}
	return false;
}

static bool
has_secret_word(const char *at, const char *end)
{
	for (; end - at > 1; at++)
	{
		if (is_secret_word(at, end))
			return true;
	}
	return false;
}

static inline void
put(Reading *reading, const char *text, Size length)
{
	if (length > (Size) (reading->to_end - reading->to))
	{
		reading->to_end = reading->to;
		reading->is_over = true;
		return;
	}
	memcpy(reading->to, text, length);
	reading->to += length;
}

/*
 * Leave out the rest of a statement, for which dots stand.  Within parentheses a semicolon does not
 * end it, and where BEGIN ATOMIC does nobody knows.
 */
static void
leave_out_rest(Reading *reading)
{
	int			depth = 0;

	put(reading, LEFT_OUT_REST, strlen(LEFT_OUT_REST));
	while (reading->at < reading->end && (depth > 0 || *reading->at != ';'))
	{
		PlhToken	token = plh_statement_tokens_read(reading->at, reading->end);

		depth += *token.start == '(';
		depth -= *token.start == ')' && depth > 0;
		reading->at = token.end;
		if (!token.is_whole || plh_statement_tokens_is_word(&token, "ATOMIC"))
			reading->at = reading->end;
	}
}

/* Show the first words of a command, and nothing behind them. */
static void
leave_out_command(Reading *reading, const char *words, Treatment treatment)
{
	if (treatment == TREATMENT_SECRET)
		reading->has_secret = true;
	put(reading, words, strlen(words));
	put(reading, " ", 1);
	leave_out_rest(reading);
}

/* What cannot be understood may be a secret, and where it ends is not known. */
static void
leave_out_all(Reading *reading)
{
	reading->has_secret = true;
	put(reading, LEFT_OUT_REST, strlen(LEFT_OUT_REST));
	reading->is_over = true;
}

/*
 * Read up to the first words of a statement.  Returns how to treat what stands behind them;
 * TREATMENT_HIDDEN if nothing does.
 */
static Treatment
read_command(Reading *reading)
{
	while (reading->at < reading->end && !reading->is_over)
	{
		PlhToken	token = plh_statement_tokens_read(reading->at, reading->end);
		const char *words_end;
		const Command *command;

		reading->at = token.end;
		if (token.kind == PLH_TOKEN_BLANK || *token.start == '(' || *token.start == ';')
			put(reading, token.start, token.end - token.start);
		else if (token.kind == PLH_TOKEN_COMMENT && reading->is_strict)
			put(reading, " ", 1);
		else if (token.kind == PLH_TOKEN_COMMENT)
			put(reading, token.start, token.end - token.start);
		else if ((command = find_command(&token, reading->end, &words_end)) == NULL)
			leave_out_all(reading);
		else
		{
			reading->at = words_end;
			if (command->treatment <= TREATMENT_HIDDEN)
				leave_out_command(reading, command->words, command->treatment);
			else if (reading->is_strict)	/* a comment may stand between */
				put(reading, command->words, strlen(command->words));
			else
				put(reading, token.start, words_end - token.start);
			return command->treatment;
		}
	}
	return TREATMENT_HIDDEN;
}

static bool
is_starting_word(const PlhToken *token)
{
	for (int i = 0; i < lengthof(starting_words); i++)
	{
		if (plh_statement_tokens_is_word(token, starting_words[i]))
			return true;
	}
	return false;
}

/* Does code of DO set a setting, whose value may be a secret? */
static bool
has_setting(const PlhToken *code)
{
	const char *at = code->start;
	char		quote = *at == '$' ? '$' : '\'';
	bool		is_start = true;

	while (*at != quote)
		at++;
	at++;
	while (quote == '$' && *at++ != '$')
		;
	while (at < code->end)
	{
		PlhToken	token = plh_statement_tokens_read(at, code->end);

		at = token.end;
		if (token.kind == PLH_TOKEN_BLANK || token.kind == PLH_TOKEN_COMMENT)
			continue;
		if (is_start && plh_statement_tokens_is_word(&token, "SET"))
			return true;
		is_start = *token.start == ';' || is_starting_word(&token);
	}
	return false;
}

/* Is a literal kept, by what it is and what it says? */
static bool
is_kept(const Reading *reading, const PlhToken *literal, Treatment treatment)
{
	if (reading->is_strict || treatment == TREATMENT_ARGUMENTS)
		return false;
	if (literal->kind == PLH_TOKEN_NUMBER || treatment == TREATMENT_DATA)
		return true;
	return treatment == TREATMENT_CODE && literal->is_whole &&
		!has_any(literal->start, literal->end, dynamic_words, lengthof(dynamic_words)) &&
		!has_setting(literal);
}

/*
 * Read a literal.  A string that may end elsewhere hides where its statement ends, while one that
 * has no end ends with the text.
 */
static void
read_literal(Reading *reading, const PlhToken *token, Treatment treatment)
{
	bool		is_last = token->end == reading->end;
	bool		is_joined = !is_last && plh_statement_tokens_in_name(*token->end);

	if (!token->is_whole && !is_last)
		leave_out_all(reading);
	else if (is_kept(reading, token, treatment))
		put(reading, token->start, token->end - token->start);
	else if (!token->is_whole || treatment == TREATMENT_CODE ||
			 has_secret_word(token->start, token->end))
		leave_out_rest(reading);
	else if (reading->is_strict && is_joined)
		leave_out_all(reading);
	else
		put(reading, LEFT_OUT_LITERAL, strlen(LEFT_OUT_LITERAL));
}

/* Is this quoted name a string, in the wrong quotes? */
static bool
is_odd_name(const PlhToken *name)
{
	for (const char *at = name->start + 1; at < name->end - 1; at++)
	{
		if (!plh_statement_tokens_in_name(*at))
			return true;
	}
	return !name->is_whole;
}

/*
 * Stands a quoted name where a name must, and not a value in the wrong quotes?  A name follows a
 * word or a point.
 */
static bool
is_at_names_place(const PlhToken *before)
{
	return *before->start == '.' ||
		(before->kind == PLH_TOKEN_NAME && !has_secret_word(before->start, before->end));
}

/* Read a quoted name of a text with a secret. */
static void
read_doubtful_name(Reading *reading, const PlhToken *name, const PlhToken *before)
{
	if (is_odd_name(name))
		leave_out_all(reading);
	else if (is_at_names_place(before))
		put(reading, name->start, name->end - name->start);
	else
		put(reading, LEFT_OUT_NAME, strlen(LEFT_OUT_NAME));
}

/* Leave out the options or the string that follow a word, if they do. */
static void
leave_out_options(Reading *reading, bool in_string)
{
	PlhToken	next;

	if (!plh_statement_tokens_read_next(&next, reading->at, reading->end) ||
		!(in_string ? next.kind == PLH_TOKEN_STRING || next.kind == PLH_TOKEN_QUOTED_NAME :
		  *next.start == '('))
		return;
	reading->has_secret = true;
	put(reading, " ", 1);
	leave_out_rest(reading);
}

/*
 * Leave out a command that holds a secret, if these words begin one: somebody may have forgotten
 * the semicolon before it.
 */
static bool
leave_out_inner_command(Reading *reading, const PlhToken *token)
{
	const char *words_end;
	const Command *command = find_command(token, reading->end, &words_end);

	if (command == NULL || command->treatment != TREATMENT_SECRET ||
		strchr(command->words, ' ') == NULL)
		return false;
	leave_out_command(reading, command->words, TREATMENT_SECRET);
	return true;
}

/* Read a name within a statement. */
static void
read_name(Reading *reading, const PlhToken *token, Treatment *treatment)
{
	char		first = plh_statement_tokens_lower(*token->start);

	if (((first == 'c' && plh_statement_tokens_is_word(token, "CREATE")) ||
		 (first == 'a' && plh_statement_tokens_is_word(token, "ALTER"))) &&
		leave_out_inner_command(reading, token))
		return;
	put(reading, token->start, token->end - token->start);
	if (first == 'e' && plh_statement_tokens_is_word(token, "EXECUTE"))
		*treatment = TREATMENT_ARGUMENTS;
	else if (first == 'o' && plh_statement_tokens_is_word(token, "OPTIONS"))
		leave_out_options(reading, false);
	else if ((first == 'p' && plh_statement_tokens_is_word(token, "PROGRAM")) ||
			 (first == 'c' && plh_statement_tokens_is_word(token, "CONNECTION")))
		leave_out_options(reading, true);
}

/* Read a statement behind its first words, with the semicolon. */
static void
read_statement(Reading *reading, Treatment treatment)
{
	bool		is_end = false;

	/* the command's last word; where it ends does not matter */
	PlhToken	before = {.start = "",.end = "",.kind = PLH_TOKEN_NAME};

	while (!is_end && reading->at < reading->end && !reading->is_over)
	{
		PlhToken	token = plh_statement_tokens_read(reading->at, reading->end);

		reading->at = token.end;
		is_end = *token.start == ';';
		if (token.kind == PLH_TOKEN_STRING || token.kind == PLH_TOKEN_NUMBER)
			read_literal(reading, &token, treatment);
		else if (token.kind == PLH_TOKEN_NAME)
			read_name(reading, &token, &treatment);
		else if (token.kind == PLH_TOKEN_COMMENT && reading->is_strict)
			put(reading, " ", 1);
		else if (token.kind == PLH_TOKEN_QUOTED_NAME && reading->is_strict)
			read_doubtful_name(reading, &token, &before);
		else
			put(reading, token.start, token.end - token.start);
		if (token.kind != PLH_TOKEN_BLANK && token.kind != PLH_TOKEN_COMMENT)
			before = token;
	}
}

/* Returns false if the text turned out to have a secret that it was not read for. */
static bool
read_text(Reading *reading)
{
	while (reading->at < reading->end && !reading->is_over)
		read_statement(reading, read_command(reading));
	return reading->is_strict || !reading->has_secret;
}

static Reading
begin(char *kept, const char *text, Size length, bool is_strict)
{
	return (Reading)
	{
		.at = text,.end = text + length,.to = kept,
			.to_end = kept + PLH_STATEMENT_MAX,.is_strict = is_strict
	};
}

Size
plh_statement_text_keep(char kept[PLH_STATEMENT_MAX + 1], const char *text, Size length)
{
	Size		read = Min(length, PLH_STATEMENT_MAX);
	Reading		reading = begin(kept, text, read, has_secret_word(text, text + read));

	if (!read_text(&reading))
	{
		reading = begin(kept, text, read, true);
		read_text(&reading);
	}
	*reading.to = '\0';
	return reading.to - kept;
}
