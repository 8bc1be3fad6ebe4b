/*
 * server_binary.c
 *	  Finds the binary of the server that a profile is of.
 */
#include "postgres.h"

#include "dump/dump_addresses.h"
#include "report/server_binary.h"
#include "report/stack_text.h"
#include "stack/modules.h"

/* The server that runs us, as a module of no image; NULL if it is not known. */
static PlhModuleRecord *
own_server(void)
{
	const PlhModule *executable = plh_modules_executable();
	PlhModuleRecord *module;
	Size		path_bytes;

	if (executable == NULL)
		return NULL;
	path_bytes = strlen(executable->path);
	module = palloc0(offsetof(PlhModuleRecord, path) + path_bytes + 1);
	module->build_id_bytes = executable->build_id_bytes;
	if (executable->build_id_bytes > 0)
		memcpy(module->build_id, executable->build_id, executable->build_id_bytes);
	module->text_address = executable->text_start - executable->load_bias;
	module->text_bytes = executable->text_end - executable->text_start;
	module->text_file_offset = executable->text_file_offset;
	module->path_bytes = path_bytes;
	memcpy(module->path, executable->path, path_bytes);
	return module;
}

/* Is it called as our server is?  A dump may be of another version. */
static bool
is_called_alike(const PlhModuleRecord *module, const PlhModuleRecord *server)
{
	return strcmp(plh_stack_text_base_name(module->path),
				  plh_stack_text_base_name(server->path)) == 0;
}

/* The first module of an image that is like our server; NULL if none is. */
static const PlhModuleRecord *
find_module(const PlhProfileImage *image, const PlhModuleRecord *server,
			bool (*is_alike) (const PlhModuleRecord *module, const PlhModuleRecord *server))
{
	for (uint32 index = 1; index < PLH_IMAGE_MODULES; index++)
	{
		const PlhModuleRecord *module = plh_profile_image_module(image, index);

		if (module != NULL && is_alike(module, server))
			return module;
	}
	return NULL;
}

const PlhModuleRecord *
plh_server_binary_find(const PlhProfileImage *image, uint64 *text_start)
{
	const PlhModuleRecord *own = own_server();
	const PlhModuleRecord *module;

	if (own == NULL)
		return NULL;
	if ((module = find_module(image, own, plh_profile_image_is_same_module)) != NULL ||
		(module = find_module(image, own, is_called_alike)) != NULL)
	{
		PlhPlacement *placement = palloc(sizeof(PlhPlacement));

		plh_dump_addresses_place(placement, image);
		*text_start = plh_dump_addresses_of(placement, PLH_FRAME(module->index,
																 module->text_address));
		return module;
	}
	if (image->header->pg_version != PG_VERSION_NUM)
		return NULL;
	*text_start = plh_dump_addresses_wanted(own) + own->text_address;
	return own;
}
