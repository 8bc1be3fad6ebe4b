/*
 * context_ident.c
 *	  What PostgreSQL notes of memory contexts beside their names.
 *
 * This code runs inside palloc.
 *
 * A note is a pointer that nobody checks, and contexts of extensions may have one to what
 * is gone.  So only those are read that the server and its procedural languages set, of
 * which it is known what they are and that they live as long as the context.
 */
#include "postgres.h"

#include "profile/profile_records.h"
#include "profile/statement_shape.h"
#include "profile/statement_text.h"
#include "sampler/context_ident.h"

#define STATEMENT_CONTEXT "CachedPlanSource"

/* Of a statement that begins so no literals are kept (statement_text.c). */
#define NO_LITERALS "EXECUTE "

/* What is kept of a text that begins with no known command. */
#define NOTHING_KEPT "..."

typedef struct KnownContext
{
	const char *name;
	PlhIdentKind kind;
} KnownContext;

static const KnownContext known_contexts[] = {
	{STATEMENT_CONTEXT, PLH_IDENT_STATEMENT},
	{"CachedPlan", PLH_IDENT_STATEMENT},
	{"CachedPlanQuery", PLH_IDENT_OF_PARENT},
	{"index info", PLH_IDENT_NAME},
	{"relation rules", PLH_IDENT_NAME},
	{"partition key", PLH_IDENT_NAME},
	{"partition descriptor", PLH_IDENT_NAME},
	{"row security descriptor", PLH_IDENT_NAME},
	{"PL/pgSQL function", PLH_IDENT_NAME},
	{"SQL function", PLH_IDENT_NAME},
	{"PL/Perl function", PLH_IDENT_NAME},
	{"PL/Python function", PLH_IDENT_NAME},
	{"PL/Tcl function", PLH_IDENT_NAME},
	{"PortalContext", PLH_IDENT_NAME},
	{"TS dictionary", PLH_IDENT_NAME}
};

PlhIdentKind
plh_context_ident_kind(MemoryContext context)
{
	for (int i = 0; i < lengthof(known_contexts); i++)
	{
		if (strcmp(known_contexts[i].name, context->name) == 0)
			return known_contexts[i].kind;
	}
	return PLH_IDENT_NONE;
}

MemoryContext
plh_context_ident_source(MemoryContext context, PlhIdentKind kind)
{
	MemoryContext source = kind == PLH_IDENT_OF_PARENT ? context->parent : context;

	if (source != context &&
		(source == NULL || strcmp(source->name, STATEMENT_CONTEXT) != 0))
		return NULL;
	return source->ident == NULL ? NULL : source;
}

/* Let one digit stand for each number.  Returns the new length. */
static Size
join_digits(char *to, const char *text, Size length)
{
	char	   *end = to;

	for (Size i = 0; i < length; i++)
	{
		bool		is_digit = text[i] >= '0' && text[i] <= '9';

		if (!is_digit)
			*end++ = text[i];
		else if (end == to || end[-1] != '0')
			*end++ = '0';
	}
	return end - to;
}

uint64
plh_context_ident_key(const char *ident, PlhIdentKind kind)
{
	Size		length = strnlen(ident, PLH_STATEMENT_MAX);
	PlhStatementShape shape;

	if (plh_context_ident_is_statement(kind))
	{
		plh_statement_shape_of(&shape, ident, length);
		length = join_digits(shape.text, shape.text, shape.length);
	}
	else
		length = join_digits(shape.text, ident, length);
	return hash_bytes_extended((const unsigned char *) shape.text, length,
							   plh_profile_records_seed);
}

/*
 * Copy what may be kept of a statement, without its literals: it may be one of a function,
 * whose code is never kept otherwise.  One that is no command is an expression of PL/pgSQL,
 * as the server has parsed it.
 */
static Size
keep_statement(char *kept, const char *statement, Size length)
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
	return length - prefix;
}

Size
plh_context_ident_keep(char *kept, MemoryContext source, PlhIdentKind kind,
					   Size max_bytes)
{
	Size		length = strnlen(source->ident, PLH_STATEMENT_MAX);

	if (plh_context_ident_is_statement(kind))
		length = keep_statement(kept, source->ident, length);
	else
		memcpy(kept, source->ident, length);
	length = Min(length, max_bytes);
	kept[length] = '\0';
	return length;
}
