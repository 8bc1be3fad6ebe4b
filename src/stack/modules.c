/*
 * modules.c
 *	  The modules of this process, which are the executable and the loaded libraries, and the
 *	  way from an address to one of them.
 *
 * This code runs inside palloc.  dl_iterate_phdr takes the dynamic linker's lock, which is
 * recursive, and allocates nothing.  It is called for each new stack, and visits the modules only
 * if the linker's counts of loads and unloads have changed.
 */
#include "postgres.h"

#include <link.h>

#include "miscadmin.h"

#include "base/fork.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "stack/modules.h"

/* Modules beyond this number are treated as JIT-compiled code is. */
#define MAX_MODULES 512

/* The modules are sorted by text_start, and no two have the same. */
static PLH_SAME_IN_CHILD PLH_LARGE PlhModule modules[MAX_MODULES];
static PLH_SAME_IN_CHILD int module_count;

/* The linker's counters had these values at our last look. */
static PLH_SAME_IN_CHILD unsigned long long seen_loads;
PLH_SAME_IN_CHILD unsigned long long plh_modules_unloaded;

/* Find the build-id in the module's notes, which the linker has mapped. */
static void
find_build_id(PlhModule *module, const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const Elf64_Phdr *segment = &info->dlpi_phdr[i];
		const char *note = (const char *) info->dlpi_addr + segment->p_vaddr;
		const char *end = note + segment->p_memsz;

		if (segment->p_type != PT_NOTE)
			continue;

		while (end - note >= (ptrdiff_t) sizeof(Elf64_Nhdr))
		{
			const Elf64_Nhdr *header = (const Elf64_Nhdr *) note;
			const char *name = note + sizeof(*header);
			const char *value = name + TYPEALIGN(4, header->n_namesz);

			note = value + TYPEALIGN(4, header->n_descsz);
			if (note > end)
				break;
			if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
				memcmp(name, "GNU", 4) == 0 && header->n_descsz <= PLH_BUILD_ID_MAX)
			{
				module->build_id = (const uint8 *) value;
				module->build_id_bytes = header->n_descsz;
				return;
			}
		}
	}
}

static void
find_unwind_table(PlhModule *module, const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			module->unwind_table = (const uint8 *) info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
}

/* Insert a module into the sorted array, unless the array has it already. */
static void
insert_module(const PlhModule *module)
{
	int			place = module_count;

	while (place > 0 && modules[place - 1].text_start >= module->text_start)
		place--;
	if (module_count == MAX_MODULES ||
		(place < module_count && modules[place].text_start == module->text_start))
		return;

	Assert(place == 0 || modules[place - 1].text_start < module->text_start);
	Assert(place == module_count || modules[place].text_start > module->text_start);
	memmove(&modules[place + 1], &modules[place], sizeof(PlhModule) * (module_count - place));
	modules[place] = *module;
	module_count++;
}

/* This dl_iterate_phdr callback stops at once if nothing was loaded. */
static int
visit_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool	   *is_first = arg;

	if (*is_first)
	{
		if (info->dlpi_adds == seen_loads && info->dlpi_subs == plh_modules_unloaded)
			return 1;

		/* a new module may lie where another one was unloaded */
		if (info->dlpi_subs != plh_modules_unloaded)
			module_count = 0;
		seen_loads = info->dlpi_adds;
		plh_modules_unloaded = info->dlpi_subs;
	}

	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const Elf64_Phdr *segment = &info->dlpi_phdr[i];
		PlhModule	module = {0};

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
			continue;

		module.text_start = info->dlpi_addr + segment->p_vaddr;
		module.text_end = module.text_start + segment->p_memsz;
		module.load_bias = info->dlpi_addr;
		module.text_file_offset = segment->p_offset;

		/* the linker has no name for the executable itself */
		module.path = *is_first ? my_exec_path : info->dlpi_name;
		find_build_id(&module, info);
		find_unwind_table(&module, info);
		insert_module(&module);
	}

	*is_first = false;
	return 0;
}

/* Learn of modules that were loaded or unloaded since the last look: cheap if there are none. */
void
plh_modules_refresh(void)
{
	bool		is_first = true;

	(void) dl_iterate_phdr(visit_object, &is_first);
}

/* As of the last refresh, and valid until the next one; NULL for JIT-compiled code. */
PlhModule *
plh_modules_find(uintptr_t address)
{
	int			low = 0;
	int			high = module_count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (address < modules[middle].text_start)
			high = middle;
		else if (address >= modules[middle].text_end)
			low = middle + 1;
		else
			return &modules[middle];
	}
	return NULL;
}

/* It is the server's; NULL if we have not looked yet. */
const PlhModule *
plh_modules_executable(void)
{
	for (int i = 0; i < module_count; i++)
		if (modules[i].path == my_exec_path)
			return &modules[i];
	return NULL;
}

/* By its index in this process' profile, which is not 0; NULL if there is none any more. */
PlhModule *
plh_modules_of_profile(uint32 index)
{
	for (int i = 0; i < module_count; i++)
		if (modules[i].profile_index == index)
			return &modules[i];
	return NULL;
}

void
plh_modules_forget_profile(void)
{
	for (int i = 0; i < module_count; i++)
		modules[i].profile_index = 0;
}
