/*
 * scenario_proof.c
 *	  What becomes of the chunks of a scenario's process, and proofs of it.
 */
#include "postgres.h"

#include "named_code.h"
#include "scenario_process.h"
#include "scenario_proof.h"
#include "simulated_proof.h"

/* lost PART, resettable PART, held by HOLDER, way PATH: any of these */
static Fate
fate_of(Words *words)
{
	Fate		fate = {0};

	if (words_take(words, "lost"))
		fate.lost_part = words_part(words);
	if (words_take(words, "resettable"))
		fate.resettable_part = words_part(words);
	if (words_take(words, "held"))
	{
		words_expect(words, "by");
		fate.holder = strdup(words_next(words));
	}
	if (words_take(words, "way"))
		fate.path = strdup(words_next(words));
	return fate;
}

/* chunks [of malloc] FATE [at STACK] */
static void
chunks(Words *words)
{
	bool		of_malloc = words_take(words, "of");
	Fate		fate;

	if (of_malloc)
		words_expect(words, "malloc");
	fate = fate_of(words);
	if (of_malloc)
	{
		simulated_fate_of_malloc(&fate);
		return;
	}
	words_expect(words, "at");
	simulated_fate(named_code_stack(words), &fate);
}

bool
scenario_proof_do(const char *name, Words *words)
{
	bool		proves = strcmp(name, "prove") == 0;

	if (!proves && strcmp(name, "chunks") != 0)
		return false;
	scenario_process_begin();
	if (proves)
		simulated_prove();
	else
		chunks(words);
	return true;
}
