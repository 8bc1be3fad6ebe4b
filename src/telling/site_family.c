/*
 * site_family.c
 *	  What is known of a call site by the functions of the server that it lies in.
 *
 * What belongs together may lie in several contexts, of which some hold other things, too: the
 * texts of notifications are in TopTransactionContext, record types in CacheMemoryContext, and what
 * a walsender sends for an output plugin in TopMemoryContext.  There the function tells more than
 * the context.
 */
#include "postgres.h"

#include "telling/site_family.h"

/* A function of the server, and a context of the family that it allocates for. */
static const struct
{
	const char *function;
	const char *context_name;
}			known_sites[] = {
	{"Async_Notify", "Pending Notifies"},
	{"OutputPluginWrite", "Logical decoding context"},
	{"assign_record_type_typmod", "Record information cache"},
	{"set_config_option", "GUCMemoryContext"},
	{"set_config_with_handle", "GUCMemoryContext"}
};

static const PlhFamily *
family_of_function(const char *function)
{
	for (int i = 0; i < lengthof(known_sites); i++)
		if (strcmp(function, known_sites[i].function) == 0)
			return plh_family_of(known_sites[i].context_name);
	return NULL;
}

/*
 * The family of the innermost function of the server that is known, up to the first frame outside
 * of the server.
 */
const PlhFamily *
plh_site_family(const PlhStackText *stack)
{
	const PlhFamily *family = NULL;

	for (int i = 0; i < stack->frame_count && family == NULL; i++)
	{
		const PlhFrameText *frame = &stack->frames[i];

		if (frame->language != PLH_LANGUAGE_NONE)
			continue;
		if (frame->module == NULL || strstr(frame->module, ".so") != NULL)
			return NULL;
		if (frame->function != NULL)
			family = family_of_function(frame->function);
	}
	return family;
}

/*
 * Does this stack belong to a cache or table of the server?  One that leads into code from outside
 * of the server before does not.
 */
bool
plh_site_family_is_cache(const PlhStackText *stack, int flags)
{
	for (int i = 0; i < stack->frame_count; i++)
	{
		const PlhFrameText *caller = &stack->frames[i];

		if (caller->language != PLH_LANGUAGE_NONE)
			continue;
		if (caller->module == NULL || strcmp(caller->module, stack->frames[0].module) != 0)
			return false;
		if (plh_allocation_wrappers_has(caller->function, flags))
			return true;
	}
	return false;
}

bool
plh_site_family_is_of_server(const PlhFrameText *frame)
{
	return frame->module != NULL && strstr(frame->module, ".so") == NULL;
}

bool
plh_site_family_fills_cache(const PlhStackText *stack, const char *context_name)
{
	const PlhFrameText *site = &stack->frames[stack->site_frame];

	return plh_site_family_is_cache(stack,
									PLH_FUNCTION_BOUNDED_CACHE | PLH_FUNCTION_CATALOG_CACHE) ||
		(stack->frame_count > 0 && site->function == NULL && plh_site_family_is_of_server(site) &&
		 strcmp(context_name, "CacheMemoryContext") == 0);
}
