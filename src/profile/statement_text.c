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

#include "profile/statement_text.h"
#include "profile/statement_tokens.h"

/* A statement that begins so is kept without literals. */
#define NO_LITERALS "EXECUTE "

/* What is kept of a text that begins with no known command. */
#define NOTHING_KEPT "..."

/* What may be kept of the texts of a kind of statements. */
typedef enum Treatment
{
	SECRET,						/* its first words only, and no literals or
								 * comments around it */
	HIDDEN,						/* its first words only */
	ARGUMENTS,					/* without literals */
	UTILITY,					/* without strings */
	CODE,						/* whole, if its string is harmless */
	DATA						/* whole */
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
 * DATA is for what pg_stat_statements would call planned.  No string of any other command is kept:
 * those of EXECUTE and CALL go to statements that cannot be seen here.
 */
static const Command commands[] = {
	{"SELECT", DATA}, {"INSERT", DATA}, {"UPDATE", DATA}, {"DELETE", DATA}, {"WITH", DATA},
	{"MERGE", DATA}, {"VALUES", DATA}, {"TABLE", DATA}, {"DECLARE", DATA},
	{"PREPARE TRANSACTION", UTILITY},
	{"PREPARE", DATA}, {"EXPLAIN", DATA}, {"FETCH", DATA}, {"MOVE", DATA},
	{"DO", CODE},
	{"EXECUTE", ARGUMENTS}, {"CALL", ARGUMENTS},

	{"CREATE ROLE", SECRET}, {"CREATE USER MAPPING", SECRET}, {"CREATE USER", SECRET},
	{"CREATE GROUP", SECRET}, {"CREATE SUBSCRIPTION", SECRET}, {"CREATE SERVER", SECRET},
	{"CREATE FOREIGN DATA WRAPPER", SECRET}, {"CREATE FOREIGN TABLE", SECRET},
	{"CREATE FUNCTION", HIDDEN}, {"CREATE PROCEDURE", HIDDEN},
	{"CREATE ACCESS METHOD", UTILITY}, {"CREATE AGGREGATE", UTILITY}, {"CREATE CAST", UTILITY},
	{"CREATE COLLATION", UTILITY}, {"CREATE CONVERSION", UTILITY}, {"CREATE DATABASE", UTILITY},
	{"CREATE DOMAIN", UTILITY}, {"CREATE EXTENSION", UTILITY}, {"CREATE INDEX", UTILITY},
	{"CREATE LANGUAGE", UTILITY}, {"CREATE OPERATOR", UTILITY}, {"CREATE POLICY", UTILITY},
	{"CREATE PROPERTY GRAPH", UTILITY}, {"CREATE PUBLICATION", UTILITY},
	{"CREATE RULE", UTILITY}, {"CREATE SCHEMA", UTILITY}, {"CREATE SEQUENCE", UTILITY},
	{"CREATE STATISTICS", UTILITY}, {"CREATE TABLE", UTILITY}, {"CREATE TABLESPACE", UTILITY},
	{"CREATE TEXT SEARCH", UTILITY}, {"CREATE TRANSFORM", UTILITY}, {"CREATE TRIGGER", UTILITY},
	{"CREATE TYPE", UTILITY}, {"CREATE VIEW", UTILITY},
	{"CREATE", SECRET},

	{"ALTER ROLE", SECRET}, {"ALTER USER MAPPING", SECRET}, {"ALTER USER", SECRET},
	{"ALTER GROUP", SECRET}, {"ALTER SUBSCRIPTION", SECRET}, {"ALTER SERVER", SECRET},
	{"ALTER FOREIGN DATA WRAPPER", SECRET}, {"ALTER FOREIGN TABLE", SECRET},
	{"ALTER SYSTEM", SECRET}, {"ALTER DATABASE", SECRET}, {"ALTER FUNCTION", SECRET},
	{"ALTER PROCEDURE", SECRET}, {"ALTER ROUTINE", SECRET},
	{"ALTER AGGREGATE", UTILITY}, {"ALTER COLLATION", UTILITY}, {"ALTER CONVERSION", UTILITY},
	{"ALTER DOMAIN", UTILITY}, {"ALTER EXTENSION", UTILITY}, {"ALTER INDEX", UTILITY},
	{"ALTER LANGUAGE", UTILITY}, {"ALTER LARGE OBJECT", UTILITY}, {"ALTER OPERATOR", UTILITY},
	{"ALTER POLICY", UTILITY}, {"ALTER PRIVILEGES", UTILITY}, {"ALTER PROPERTY GRAPH", UTILITY},
	{"ALTER PUBLICATION", UTILITY}, {"ALTER RULE", UTILITY}, {"ALTER SCHEMA", UTILITY},
	{"ALTER SEQUENCE", UTILITY}, {"ALTER STATISTICS", UTILITY}, {"ALTER TABLE", UTILITY},
	{"ALTER TABLESPACE", UTILITY}, {"ALTER TEXT SEARCH", UTILITY}, {"ALTER TRIGGER", UTILITY},
	{"ALTER TYPE", UTILITY}, {"ALTER VIEW", UTILITY},
	{"ALTER", SECRET},

	{"SET CONSTRAINTS", UTILITY}, {"SET TRANSACTION", UTILITY},
	{"SET", HIDDEN},

	{"ABORT", UTILITY}, {"ANALYSE", UTILITY}, {"ANALYZE", UTILITY}, {"BEGIN", UTILITY},
	{"CHECKPOINT", UTILITY}, {"CLOSE", UTILITY}, {"CLUSTER", UTILITY}, {"COMMENT ON", UTILITY},
	{"COMMIT", UTILITY}, {"COPY", UTILITY}, {"DEALLOCATE", UTILITY}, {"DISCARD", UTILITY},
	{"DROP", UTILITY}, {"END", UTILITY}, {"GRANT", UTILITY}, {"IMPORT FOREIGN SCHEMA", UTILITY},
	{"LISTEN", UTILITY}, {"LOAD", UTILITY}, {"LOCK", UTILITY}, {"NOTIFY", UTILITY},
	{"REASSIGN OWNED", UTILITY}, {"REFRESH", UTILITY}, {"REINDEX", UTILITY},
	{"RELEASE", UTILITY}, {"REPACK", UTILITY}, {"RESET", UTILITY}, {"REVOKE", UTILITY},
	{"ROLLBACK", UTILITY}, {"SAVEPOINT", UTILITY}, {"SECURITY LABEL", UTILITY},
	{"SHOW", UTILITY}, {"START TRANSACTION", UTILITY}, {"TRUNCATE", UTILITY},
	{"UNLISTEN", UTILITY}, {"VACUUM", UTILITY}, {"WAIT FOR", UTILITY},

	/* of WAL senders */
	{"BASE_BACKUP", UTILITY}, {"IDENTIFY_SYSTEM", UTILITY},
	{"CREATE_REPLICATION_SLOT", UTILITY}, {"ALTER_REPLICATION_SLOT", UTILITY},
	{"DROP_REPLICATION_SLOT", UTILITY}, {"READ_REPLICATION_SLOT", UTILITY},
	{"START_REPLICATION", UTILITY}, {"TIMELINE_HISTORY", UTILITY}, {"UPLOAD_MANIFEST", UTILITY}
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

/* Where one of these occurs, no literal and no comment of the text is kept.  Lower case. */
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
	bool		is_strict;		/* no literal and no comment is kept */
	bool		has_secret;		/* found while it was read */
	bool		is_over;		/* the rest cannot be understood */
} Reading;

static bool
is_one_of(const PlhToken *token, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (plh_statement_tokens_is_word(token, words[i]))
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
		} while (!plh_statement_tokens_is_word(&token, words) &&
				 is_one_of(&token, modifiers, lengthof(modifiers)));
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

/* Most bytes of a text must be done with by a look at two of them. */
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

static inline void
put_text(Reading *reading, const char *text)
{
	put(reading, text, strlen(text));
}

/*
 * Leave out the rest of a statement, for which dots stand.  Within parentheses a semicolon does not
 * end it, and where BEGIN ATOMIC does nobody knows.
 */
static void
leave_out_rest(Reading *reading)
{
	int			depth = 0;

	put_text(reading, LEFT_OUT_REST);
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
	if (treatment == SECRET)
		reading->has_secret = true;
	put_text(reading, words);
	put_text(reading, " ");
	leave_out_rest(reading);
}

/* What cannot be understood may be a secret, and where it ends is not known. */
static void
leave_out_all(Reading *reading)
{
	reading->has_secret = true;
	put_text(reading, LEFT_OUT_REST);
	reading->is_over = true;
}

/* Read up to a statement's first words.  Returns how to treat what follows; HIDDEN: nothing. */
static Treatment
read_command(Reading *reading)
{
	while (reading->at < reading->end && !reading->is_over)
	{
		PlhToken	token = plh_statement_tokens_read(reading->at, reading->end);
		const char *words_end;
		const Command *command;

		reading->at = token.end;
		if (token.kind == PLH_TOKEN_COMMENT && reading->is_strict)
			put_text(reading, " ");
		else if (token.kind == PLH_TOKEN_BLANK || token.kind == PLH_TOKEN_COMMENT ||
				 *token.start == '(' || *token.start == ';')
			put(reading, token.start, token.end - token.start);
		else if ((command = find_command(&token, reading->end, &words_end)) == NULL)
			leave_out_all(reading);
		else
		{
			reading->at = words_end;
			if (command->treatment <= HIDDEN)
				leave_out_command(reading, command->words, command->treatment);
			else if (reading->is_strict)	/* a comment may stand between */
				put_text(reading, command->words);
			else
				put(reading, token.start, words_end - token.start);
			return command->treatment;
		}
	}
	return HIDDEN;
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
		is_start = *token.start == ';' ||
			is_one_of(&token, starting_words, lengthof(starting_words));
	}
	return false;
}

/* Is a literal kept, by what it is and what it says? */
static bool
is_kept(const Reading *reading, const PlhToken *literal, Treatment treatment)
{
	if (reading->is_strict || treatment == ARGUMENTS)
		return false;
	if (literal->kind == PLH_TOKEN_NUMBER || treatment == DATA)
		return true;
	return treatment == CODE && literal->is_whole &&
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
	bool		is_joined = !is_last && plh_byte_is(*token->end, PLH_BYTE_NAME);

	if (!token->is_whole && !is_last)
		leave_out_all(reading);
	else if (is_kept(reading, token, treatment))
		put(reading, token->start, token->end - token->start);
	else if (!token->is_whole || treatment == CODE ||
			 has_secret_word(token->start, token->end))
		leave_out_rest(reading);
	else if (reading->is_strict && is_joined)
		leave_out_all(reading);
	else
		put_text(reading, LEFT_OUT_LITERAL);
}

/* Is this quoted name a string, in the wrong quotes? */
static bool
is_odd_name(const PlhToken *name)
{
	for (const char *at = name->start + 1; at < name->end - 1; at++)
	{
		if (!plh_byte_is(*at, PLH_BYTE_NAME))
			return true;
	}
	return !name->is_whole;
}

/* Does a quoted name stand where a name must?  That is behind a word or a point. */
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
		put_text(reading, LEFT_OUT_NAME);
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
	put_text(reading, " ");
	leave_out_rest(reading);
}

/* Leave out a secret command that these words begin, perhaps behind a forgotten semicolon. */
static bool
leave_out_inner_command(Reading *reading, const PlhToken *token)
{
	const char *words_end;
	const Command *command = find_command(token, reading->end, &words_end);

	if (command == NULL || command->treatment != SECRET ||
		strchr(command->words, ' ') == NULL)
		return false;
	leave_out_command(reading, command->words, SECRET);
	return true;
}

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
		*treatment = ARGUMENTS;
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
			put_text(reading, " ");
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

Size
plh_statement_text_keep_bare(char kept[PLH_STATEMENT_MAX + 1], const char *statement, Size length)
{
	char		text[PLH_STATEMENT_MAX + sizeof(NO_LITERALS)];
	Size		prefix = strlen(NO_LITERALS);
	Size		known = plh_statement_text_keep(kept, statement, length);

	if (strcmp(kept, NOTHING_KEPT) != 0)
	{
		statement = kept;
		length = known;
	}
	length = Min(length, PLH_STATEMENT_MAX);
	memcpy(text, NO_LITERALS, prefix);
	memcpy(text + prefix, statement, length);
	length = plh_statement_text_keep(kept, text, prefix + length);
	if (length < prefix || memcmp(kept, NO_LITERALS, prefix) != 0)
		return 0;
	memmove(kept, kept + prefix, length - prefix);
	kept[length - prefix] = '\0';
	return length - prefix;
}
