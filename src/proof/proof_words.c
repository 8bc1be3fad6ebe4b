/*
 * proof_words.c
 *	  What chunks and holders are called in a proof.
 */
#include "postgres.h"

#include "profile/profile_layout.h"
#include "profile/proof_layout.h"
#include "proof/node_name.h"
#include "proof/proof_words.h"

/* Of texts in chunks so much is shown. */
#define SHOWN_BYTES 40
#define NAME_BYTES 96

/* Copy a text that is not ended, cut, without what would break a line. */
static void
copy_text(char *to, Size room, const char *text, Size bytes)
{
	Size		length = Min(bytes, room - 1);

	for (Size i = 0; i < length; i++)
		to[i] = (unsigned char) text[i] < ' ' ? ' ' : text[i];
	to[length] = '\0';
}

static const char *
kind_name(const PlhHeapLook *look)
{
	switch (look->kind)
	{
		case PLH_HEAP_CHUNK_ZEROS:
			return "zeros";
		case PLH_HEAP_CHUNK_TEXT:
			return "text";
		case PLH_HEAP_CHUNK_LIST:
			return "a list";
		case PLH_HEAP_CHUNK_HASH_TABLE:
			return "a hash table";
		case PLH_HEAP_CHUNK_FUNCTION:
			return "begins with the address of a function";
		default:
			return "";
	}
}

uint32
plh_proof_words_kind(PlhProofTexts *texts, Size size, const PlhHeapLook *look)
{
	const char *name = kind_name(look);

	if (look->kind == PLH_HEAP_CHUNK_NODE && plh_node_name(look->tag) != NULL)
		return plh_proof_texts_format(texts, "%zu bytes, begins like a node of type %s", size,
									  plh_node_name(look->tag));
	if (look->kind == PLH_HEAP_NO_CHUNK)
		return plh_proof_texts_add(texts, PLH_PROOF_LOST_CONTEXT);
	return name[0] == '\0' ? plh_proof_texts_format(texts, "%zu bytes", size) :
		plh_proof_texts_format(texts, "%zu bytes, %s", size, name);
}

uint32
plh_proof_words_content(PlhProofTexts *texts, const PlhHeapLook *look)
{
	char		text[SHOWN_BYTES + 1];

	if (look->kind != PLH_HEAP_CHUNK_TEXT)
		return 0;
	copy_text(text, sizeof(text), look->text, look->text_bytes);
	return plh_proof_texts_add(texts, text);
}

/* The file of a path, without its folders. */
static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

void
plh_proof_words_context(const PlhHeapContexts *contexts, uint32 number, char *text, Size room)
{
	const PlhHeapContext *context = &contexts->list[number];

	if (context->flags & PLH_HEAP_MALLOC)
		strlcpy(text, PLH_MALLOC_NAME, room);
	else
		(void) plh_heap_memory_text(contexts->memory, context->name, text, room);
}

/* A chunk on the way, and the context that it lies in. */
static void
name_chunk(const PlhProofWay *way, uintptr_t address, char *text, Size room)
{
	const PlhHeapBlock *block = plh_heap_index_block(way->contexts->index, address);
	char		context[PLH_CONTEXT_NAME_MAX + 1];
	char		table[NAME_BYTES];
	PlhHeapChunk chunk;
	PlhHeapLook look;

	text[0] = '\0';
	if (block == NULL || !plh_heap_index_chunk(way->contexts->index, block, address, &chunk))
		return;
	plh_proof_words_context(way->contexts, block->context, context, sizeof(context));
	look = plh_heap_kinds_look(way->contexts, way->tags, &chunk);
	if (look.kind == PLH_HEAP_CHUNK_HASH_TABLE)
	{
		copy_text(table, sizeof(table), look.text, look.text_bytes);
		snprintf(text, room, "the hash table \"%s\"", table);
	}
	else if (look.kind == PLH_HEAP_CHUNK_LIST)
		snprintf(text, room, "a list in \"%s\"", context);
	else if (way->contexts->list[block->context].flags & PLH_HEAP_MALLOC)
		snprintf(text, room, "%zu bytes of malloc", (Size) (chunk.end - chunk.start));
	else
		snprintf(text, room, "%zu bytes in \"%s\"", (Size) (chunk.end - chunk.start), context);
}

static void
name_root(const PlhProofWay *way, char *text, Size room)
{
	const PlhHeapRoot *root = way->root;
	char		context[PLH_CONTEXT_NAME_MAX + 1];

	switch (root->kind)
	{
		case PLH_HEAP_BY_VARIABLE:
			if (root->name != NULL)
				snprintf(text, room, "the variable %.128s of %s", root->name,
						 base_name(root->path));
			else
				snprintf(text, room, "a variable of %s", base_name(root->path));
			break;
		case PLH_HEAP_BY_CONTEXT:
			plh_proof_words_context(way->contexts, root->context, context, sizeof(context));
			snprintf(text, room, "the memory context \"%s\"", context);
			break;
		case PLH_HEAP_BY_STACK:
			snprintf(text, room, "the stack");
			break;
		case PLH_HEAP_BY_CODE:
			snprintf(text, room, "compiled code");
			break;
		case PLH_HEAP_BY_CLOSED:
			snprintf(text, room, "chunks of contexts whose layout is not known");
			break;
		default:
			snprintf(text, room, "memory outside of contexts");
	}
}

/* A hash table that a variable leads to tells more than that. */
uint32
plh_proof_words_holder(PlhProofTexts *texts, const PlhProofWay *way)
{
	char		root[PLH_CONTEXT_NAME_MAX + 128];
	char		first[PLH_CONTEXT_NAME_MAX + 128];

	name_root(way, root, sizeof(root));
	name_chunk(way, way->first, first, sizeof(first));
	return strncmp(first, "the hash table", 14) == 0 ?
		plh_proof_texts_format(texts, "%s, %s", root, first) : plh_proof_texts_add(texts, root);
}

/* The root, what it points to, and what points to the chunk; what is between is not named. */
uint32
plh_proof_words_path(PlhProofTexts *texts, const PlhProofWay *way)
{
	char		root[PLH_CONTEXT_NAME_MAX + 128];
	char		first[PLH_CONTEXT_NAME_MAX + 128];
	char		from[PLH_CONTEXT_NAME_MAX + 128];

	name_root(way, root, sizeof(root));
	if (way->from == 0)
		return plh_proof_texts_add(texts, root);
	name_chunk(way, way->first, first, sizeof(first));
	if (way->from == way->first)
		return plh_proof_texts_format(texts, "%s -> %s", root, first);
	name_chunk(way, way->from, from, sizeof(from));
	return plh_proof_texts_format(texts, "%s -> %s -> ... -> %s", root, first, from);
}
