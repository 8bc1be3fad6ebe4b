/*
 * scenario_memory.c
 *	  What the process of a scenario allocates and frees.
 */
#include "postgres.h"

#include "named_code.h"
#include "scenario_memory.h"
#include "scenario_process.h"
#include "simulated.h"

/* The stacks of those who allocate are those of the scenario. */
void
simulated_stack(int who, PlhStack *stack)
{
	named_code_fill(who, stack);
}

/* The youngest context of that name, below another one or this itself; NULL: none. */
static MemoryContext
find_below(MemoryContext context, const char *name)
{
	MemoryContext found = strcmp(context->name, name) == 0 ? context : NULL;

	for (MemoryContext child = context->firstchild; child != NULL && found == NULL;
		 child = child->nextchild)
		found = find_below(child, name);
	return found;
}

/* The youngest context of the next name. */
static MemoryContext
context_named(Words *words)
{
	const char *name = words_next(words);
	MemoryContext context = find_below(tree.top, name);

	if (context == NULL)
		words_fail(words, "there is no context \"%s\"", name);
	return context;
}

/* "N x", or 1. */
static int64
count_of(Words *words)
{
	int64		count = 1;

	if (words->at + 1 < words->count && strcmp(words->words[words->at + 1], "x") == 0)
	{
		count = (int64) words_number(words);
		words_expect(words, "x");
	}
	return count;
}

static int
stack_behind_at(Words *words)
{
	words_expect(words, "at");
	return named_code_stack(words);
}

/* context [N x] NAME in PARENT [of IDENT] [with SIZE free] */
static void
create(Words *words)
{
	int64		count = count_of(words);
	char	   *name = strdup(words_next(words));
	char	   *ident = NULL;
	int64		free_bytes = 0;
	MemoryContext parent;

	words_expect(words, "in");
	parent = context_named(words);
	if (words_take(words, "of"))
		ident = strdup(words_next(words));
	if (words_take(words, "with"))
	{
		free_bytes = words_size(words);
		words_expect(words, "free");
	}
	while (count-- > 0)
	{
		MemoryContext context = context_create(name, parent);

		context->ident = ident;
		context_has_free(context, free_bytes);
	}
}

/* delete [N x] NAME */
static void
delete(Words *words)
{
	int64		count = count_of(words);
	const char *name = words_next(words);

	while (count-- > 0)
	{
		MemoryContext context = find_below(tree.top, name);

		if (context == NULL)
			words_fail(words, "there is no context \"%s\" any more", name);
		context_delete(context);
	}
}

/* reset NAME */
static void
reset(Words *words)
{
	context_reset(context_named(words));
}

/* allocate [and free] [N x] SIZE in CONTEXT at STACK */
static void
allocate_in(Words *words)
{
	bool		frees = words_take(words, "and");
	MemoryContext context;
	int64		count;
	int64		size;

	if (frees)
		words_expect(words, "free");
	count = count_of(words);
	size = words_size(words);
	words_expect(words, "in");
	context = context_named(words);
	(frees ? allocate_and_free : allocate) (context, stack_behind_at(words), size, count);
}

/* enlarge SIZE to SIZE in CONTEXT at STACK */
static void
enlarge_in(Words *words)
{
	int64		from = words_size(words);
	int64		to;
	MemoryContext context;

	words_expect(words, "to");
	to = words_size(words);
	words_expect(words, "in");
	context = context_named(words);
	enlarge(context, stack_behind_at(words), from, to);
}

/* free PERCENT in CONTEXT at STACK */
static void
free_in(Words *words)
{
	double		part = words_part(words);
	MemoryContext context;

	words_expect(words, "in");
	context = context_named(words);
	free_some(context, stack_behind_at(words), part);
}

/* malloc allocates [N x] SIZE at STACK, frees PERCENT at STACK, grows, shrinks or keeps SIZE */
static void
malloc_does(Words *words)
{
	const char *what = words_next(words);

	if (strcmp(what, "allocates") == 0)
	{
		int64		count = count_of(words);
		int64		size = words_size(words);

		malloc_allocates(stack_behind_at(words), size, count);
	}
	else if (strcmp(what, "frees") == 0)
	{
		double		part = words_part(words);

		malloc_frees(stack_behind_at(words), part);
	}
	else if (strcmp(what, "grows") == 0)
		malloc_changes(words_size(words));
	else if (strcmp(what, "shrinks") == 0)
		malloc_changes(-words_size(words));
	else if (strcmp(what, "keeps") == 0)
	{
		int64		size = words_size(words);

		if (words_take(words, "in"))
		{
			words_expect(words, "arenas");
			malloc_keeps_in_arenas(size);
		}
		else
			malloc_keeps(size);
	}
	else
		words_fail(words, "malloc does not do \"%s\"", what);
}

static void
map(Words *words)
{
	others_map(words_size(words));
}

static void
unmap(Words *words)
{
	others_map(-words_size(words));
}

bool
scenario_memory_do(const char *name, Words *words)
{
	static const struct
	{
		const char *name;
		void		(*run) (Words *words);
	}			commands[] = {
		{"context", create}, {"delete", delete}, {"reset", reset},
		{"allocate", allocate_in}, {"enlarge", enlarge_in}, {"free", free_in},
		{"malloc", malloc_does}, {"map", map}, {"unmap", unmap}
	};

	for (int i = 0; i < lengthof(commands); i++)
	{
		if (strcmp(commands[i].name, name) != 0)
			continue;
		scenario_process_begin();
		commands[i].run(words);
		return true;
	}
	return false;
}
