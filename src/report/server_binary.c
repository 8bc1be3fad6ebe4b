/*
 * server_binary.c
 *	  Finds the binary of the server that a profile is of.
 */
#include "postgres.h"

#include "base/modules.h"
#include "dump/dump_addresses.h"
#include "profile/profile_image.h"
#include "report/server_binary.h"
#include "report/stack_text.h"

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
		memcpy(module->build_id, executable->build_id,
			   executable->build_id_bytes);
	module->text_address = executable->text_start - executable->load_bias;
	module->text_bytes = executable->text_end - executable->text_start;
	module->text_file_offset = executable->text_file_offset;
	module->path_bytes = path_bytes;
	memcpy(module->path, executable->path, path_bytes);
	return module;
}

/* Is that the same binary as our server? */
static bool
is_same_binary(const PlhModuleRecord *module, const PlhModuleRecord *server)
{
	return module->build_id_bytes == server->build_id_bytes &&
		memcmp(module->build_id, server->build_id, server->build_id_bytes) == 0 &&
		(server->build_id_bytes > 0 ||
		 strcmp(module->path, server->path) == 0);
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
			bool (*is_alike) (const PlhModuleRecord *module,
							  const PlhModuleRecord *server))
{
	for (uint32 index = 1; index < PLH_IMAGE_MODULES; index++)
	{
		const PlhModuleRecord *module = plh_profile_image_module(image, index);

		if (module != NULL && is_alike(module, server))
			return module;
	}
	return NULL;
}

/* The address of the code of a module of an image. */
static uint64
text_start_in(const PlhProfileImage *image, const PlhModuleRecord *module)
{
	PlhPlacement *placement = palloc0(sizeof(PlhPlacement));

	plh_dump_addresses_place(placement, image);
	return plh_dump_addresses_of(placement,
								 PLH_FRAME(module->index,
										   module->text_address));
}

/*
 * Find the server's binary.  That of a dump may be another one, which is called the
 * same; and no stack may have it.
 */
const PlhModuleRecord *
plh_server_binary_find(const PlhProfileImage *image, uint64 *text_start)
{
	const PlhModuleRecord *own = own_server();
	const PlhModuleRecord *module = NULL;

	if (own != NULL)
		module = find_module(image, own, is_same_binary);
	if (own != NULL && module == NULL)
		module = find_module(image, own, is_called_alike);
	if (module != NULL)
	{
		*text_start = text_start_in(image, module);
		return module;
	}
	if (own == NULL || image->header->pg_version != PG_VERSION_NUM)
		return NULL;
	*text_start = plh_dump_addresses_wanted(own) + own->text_address;
	return own;
}
