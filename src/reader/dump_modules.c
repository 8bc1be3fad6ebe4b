/*
 * dump_modules.c
 *	  The modules in a dump, and the addresses that lie in them.
 */
#include "postgres.h"

#include "dump/dump_format.h"
#include "reader/dump_modules.h"

/* Read the next line, which has a module, and add its record. */
void
plh_dump_modules_parse(PlhDumpModules *modules, PlhDumpLines *lines,
					   PlhProfileBuilder *profile)
{
	uint32		index = modules->count + 1;
	PlhModuleRecord *module;
	uint32		offset;
	char	   *path;

	plh_dump_lines_need(lines, "# module base=");
	path = plh_dump_lines_text(lines, "path");
	if (index >= PLH_IMAGE_MODULES || strlen(path) >= MAXPGPATH)
		plh_dump_lines_damaged(lines,
							   "There are too many modules, or the path is too long.");
	modules->bases[index] = plh_dump_lines_int64(lines, "base");
	offset = plh_profile_builder_add(profile, PLH_RECORD_MODULE,
									 offsetof(PlhModuleRecord, path) +
									 strlen(path) + 1);
	module = plh_profile_builder_record(profile, offset);
	module->index = index;
	module->build_id_bytes = plh_dump_lines_bytes(lines, "build_id",
												  module->build_id,
												  PLH_BUILD_ID_MAX);
	module->text_address = plh_dump_lines_int64(lines, "text_address");
	module->text_bytes = plh_dump_lines_int64(lines, "text_bytes");
	module->text_file_offset = plh_dump_lines_int64(lines, "file_offset");
	module->seen_at = plh_dump_lines_time(lines, "seen_at_us");
	module->path_bytes = strlen(path);
	strcpy(module->path, path);
	modules->count++;
}

/* Turn an address of the dump into a frame: a module, and an address in it. */
PlhFrame
plh_dump_modules_frame(const PlhDumpModules *modules, uint64 address)
{
	for (uint32 i = 1; i <= modules->count; i++)
	{
		if (address >= modules->bases[i] &&
			address - modules->bases[i] < (UINT64CONST(1) << PLH_SLOT_BITS))
			return PLH_FRAME(i, address - modules->bases[i]);
	}
	return PLH_FRAME(0, address);
}
