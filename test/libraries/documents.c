/*
 * documents.c
 *	  A module that keeps what libxml2 has parsed, as one that forgets to free it.
 */
#include "postgres.h"

#include <libxml/parser.h>

#include "fmgr.h"
#include "utils/builtins.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(keep_documents);
PG_FUNCTION_INFO_V1(free_documents);

#define MAX_DOCUMENTS 10000

static xmlDocPtr documents[MAX_DOCUMENTS];
static int	document_count;

static pg_noinline xmlDocPtr
keeping_document(const char *text, int bytes)
{
	return xmlReadMemory(text, bytes, NULL, NULL, XML_PARSE_NONET);
}

/* keep_documents(content text, times int): parse it so often, and keep all */
Datum
keep_documents(PG_FUNCTION_ARGS)
{
	text	   *content = PG_GETARG_TEXT_PP(0);

	for (int i = 0; i < PG_GETARG_INT32(1); i++)
	{
		if (document_count == MAX_DOCUMENTS)
			elog(ERROR, "too many documents");
		documents[document_count] = keeping_document(VARDATA_ANY(content), VARSIZE_ANY_EXHDR(content));
		if (documents[document_count++] == NULL)
			elog(ERROR, "the document was not parsed");
	}
	PG_RETURN_VOID();
}

/* free_documents(): all that were kept */
Datum
free_documents(PG_FUNCTION_ARGS)
{
	while (document_count > 0)
		xmlFreeDoc(documents[--document_count]);
	PG_RETURN_VOID();
}
