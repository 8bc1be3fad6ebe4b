/*
 * look_core.c
 *	  The memory that a core file has, as a source of words.
 */
#include "postgres.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <unistd.h>

#include "heap/heap.h"
#include "heap/heap_variables.h"
#include "look/look_core.h"

#ifdef __x86_64__
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

/* A list of the files that a process has mapped; NT_FILE in newer headers. */
#define FILES_NOTE 0x46494c45

#define MAX_SEGMENTS 262144

/* A range of addresses that is of a file. */
typedef struct MappedFile
{
	uint64		start;
	uint64		end;
	uint64		page;			/* of the file, where it begins */
} MappedFile;

typedef struct Core
{
	PlhLookCopy *copy;
	const char *name;
	const char *bytes;			/* of the file */
	Size		length;
	const Elf64_Phdr *parts;
	uint32		part_count;

	/* what notes tell */
	const MappedFile *files;
	uint64		file_count;
	uint64		file_page;		/* bytes of one */
	const char **paths;			/* of files */
	int			pid;			/* of the process; 0: not told */
	char	   *registers;		/* of all threads */
	Size		register_bytes;
} Core;

static void
fail(const Core *core, const char *problem)
{
	ereport(ERROR, (errmsg("\"%s\" %s", core->name, problem),
					errhint("Core files of 64-bit processes of this kind of machine can be read, "
							"as the kernel or gcore writes them.")));
}

/* What lies there in the file; NULL: it is not there. */
static const char *
at(const Core *core, uint64 offset, uint64 bytes)
{
	return offset <= core->length && bytes <= core->length - offset ? core->bytes + offset : NULL;
}

static void
map_file(Core *core)
{
	int			fd = open(core->name, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		ereport(ERROR, (errmsg("could not open file \"%s\": %m", core->name)));
	core->length = status.st_size;
	core->bytes = core->length == 0 ? MAP_FAILED :
		mmap(NULL, core->length, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (core->bytes == MAP_FAILED)
		fail(core, "can't be read");
}

/* The number of parts stands elsewhere where it is large. */
static void
read_parts(Core *core)
{
	const		Elf64_Ehdr *header = (const Elf64_Ehdr *) at(core, 0, sizeof(Elf64_Ehdr));

	if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
		header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_CORE ||
		header->e_machine != OWN_MACHINE || header->e_phentsize != sizeof(Elf64_Phdr))
		fail(core, "is no core file that can be read");
	core->part_count = header->e_phnum;
	if (header->e_phnum == PN_XNUM)
	{
		const		Elf64_Shdr *first = header->e_shoff % 8 != 0 ? NULL :
			(const Elf64_Shdr *) at(core, header->e_shoff, sizeof(Elf64_Shdr));

		core->part_count = first == NULL ? 0 : first->sh_info;
	}
	core->parts = header->e_phoff % 8 != 0 ? NULL :
		(const Elf64_Phdr *) at(core, header->e_phoff,
								(uint64) core->part_count * sizeof(Elf64_Phdr));
	if (core->parts == NULL || core->part_count == 0)
		fail(core, "is cut short");
}

/* Read the list of files: how many, the size of a page, a range for each, and their names. */
static void
read_files(Core *core, const char *note, Size bytes)
{
	const char *end = note + bytes;
	const char *path;

	if (bytes < 16)
		return;
	memcpy(&core->file_count, note, 8);
	memcpy(&core->file_page, note + 8, 8);
	if (core->file_count > (bytes - 16) / sizeof(MappedFile))
	{
		core->file_count = 0;
		return;
	}
	core->files = palloc(core->file_count * sizeof(MappedFile) + 1);
	core->paths = palloc(core->file_count * sizeof(char *) + 1);
	memcpy((MappedFile *) core->files, note + 16, core->file_count * sizeof(MappedFile));
	path = note + 16 + core->file_count * sizeof(MappedFile);
	for (uint64 i = 0; i < core->file_count; i++)
	{
		Size		length = strnlen(path, end - path);

		core->paths[i] = pnstrdup(path, length);
		path = Min(path + length + 1, end);
	}
}

/* Registers are words, and so are aligned. */
static void
add_registers(Core *core, const char *bytes, Size length)
{
	length = TYPEALIGN_DOWN(sizeof(uint64), length);
	memcpy(core->registers + core->register_bytes, bytes, length);
	core->register_bytes += length;
}

/* General registers of a thread.  Those of the process itself tell where its stack is. */
static void
read_thread(Core *core, const char *note, Size bytes)
{
	struct elf_prstatus status;
	struct user_regs_struct general;
	PlhLookRegisters *registers = &core->copy->registers;

	if (bytes < sizeof(status))
		return;
	memcpy(&status, note, sizeof(status));
	memcpy(&general, &status.pr_reg, sizeof(general));
	add_registers(core, (const char *) &status.pr_reg, sizeof(status.pr_reg));
	core->copy->threads++;
	if (registers->stack != 0 && status.pr_pid != core->pid)
		return;
	core->pid = core->pid != 0 ? core->pid : status.pr_pid;
	plh_look_threads_pointers(registers, (const char *) &general);
}

static void
read_note(Core *core, const Elf64_Nhdr *header, const char *bytes)
{
	struct elf_prpsinfo process;

	switch (header->n_type)
	{
		case NT_PRSTATUS:
			read_thread(core, bytes, header->n_descsz);
			break;
		case NT_PRPSINFO:
			if (header->n_descsz < sizeof(process))
				break;
			memcpy(&process, bytes, sizeof(process));
			core->pid = process.pr_pid;
			break;
		case FILES_NOTE:
			read_files(core, bytes, header->n_descsz);
			break;
#ifdef __aarch64__
		case NT_ARM_TLS:
			if (core->copy->registers.thread == 0 && header->n_descsz >= sizeof(uint64))
				memcpy(&core->copy->registers.thread, bytes, sizeof(uint64));
			break;
#endif
		case NT_PRFPREG:
		case NT_X86_XSTATE:
			add_registers(core, bytes, header->n_descsz);
			break;
		default:
			break;
	}
}

/* Notes are a header, a name and a content, each of the latter rounded up to four bytes. */
static void
read_notes(Core *core, const Elf64_Phdr *part)
{
	const char *note = at(core, part->p_offset, part->p_filesz);
	uint64		rest = part->p_filesz;

	if (note == NULL)
		fail(core, "is cut short");
	core->registers = plh_heap_reserve(part->p_filesz + sizeof(uint64));
	if (core->registers == NULL)
		fail(core, "is too large");
	while (rest >= sizeof(Elf64_Nhdr))
	{
		Elf64_Nhdr	header;
		uint64		before;
		uint64		whole;

		memcpy(&header, note, sizeof(header));
		before = sizeof(header) + TYPEALIGN64(4, header.n_namesz);
		whole = before + TYPEALIGN64(4, header.n_descsz);
		if (whole > rest)
			break;
		read_note(core, &header, note + before);
		note += whole;
		rest -= whole;
	}
}

/* The number of the file that a range begins in; the count of files: none. */
static uint64
file_of(const Core *core, uint64 address)
{
	for (uint64 i = 0; i < core->file_count; i++)
		if (address >= core->files[i].start && address < core->files[i].end)
			return i;
	return core->file_count;
}

/* Names of what processes share: a core file does not tell it from the rest. */
static bool
is_shared(const char *path)
{
	static const char *const names[] = {"/dev/zero", "/SYSV", "/dev/shm/", "/anon_hugepage"};

	for (int i = 0; i < lengthof(names); i++)
		if (strncmp(path, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static PlhMapping
mapping_of(const Core *core, const Elf64_Phdr *part)
{
	uint64		file = file_of(core, part->p_vaddr);
	PlhMapping	mapping = {
		.from = part->p_vaddr,.to = part->p_vaddr + part->p_memsz,
		.is_readable = part->p_flags & PF_R,.is_writable = part->p_flags & PF_W,
		.is_executable = part->p_flags & PF_X,.path = ""
	};

	if (file < core->file_count)
	{
		mapping.path = core->paths[file];
		mapping.file_offset = core->files[file].page * core->file_page +
			(part->p_vaddr - core->files[file].start);
		mapping.is_shared = is_shared(mapping.path);
	}
	return mapping;
}

static void
add_segment(Core *core, const PlhHeapSegment *segment)
{
	PlhHeapMemory *memory = &core->copy->memory;

	if (memory->count == memory->room)
		fail(core, "has too many parts");
	memory->segments[memory->count++] = *segment;
}

#define ST_SORT sort_segments
#define ST_ELEMENT_TYPE PlhHeapSegment
#define ST_COMPARE(a, b) ((a)->start < (b)->start ? -1 : (a)->start > (b)->start)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* By address, without two of the same place. */
static void
order_segments(const Core *core)
{
	PlhHeapMemory *memory = &core->copy->memory;

	sort_segments(memory->segments, memory->count);
	for (uint32 i = 1; i < memory->count; i++)
		if (memory->segments[i].start < memory->segments[i - 1].end)
			fail(core, "has two contents for one address");
}

/*
 * What the core file leaves out of a mapping of a file is what the file has, or the process would
 * have written to it.
 */
static void
add_from_file(Core *core, PlhHeapSegment segment)
{
	const char *path = strcmp(segment.path, core->copy->binary_name) == 0 ?
		core->copy->binary : segment.path;
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	const char *bytes = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		segment.file_offset < status.st_size)
	{
		segment.end = Min(segment.end, segment.start +
						  TYPEALIGN_DOWN(getpagesize(),
										 status.st_size - segment.file_offset + getpagesize() - 1));
		bytes = mmap(NULL, segment.end - segment.start, PROT_READ, MAP_PRIVATE, fd,
					 segment.file_offset);
	}
	if (fd >= 0)
		close(fd);
	if (bytes == MAP_FAILED)
		return;
	segment.bytes = bytes;
	add_segment(core, &segment);
}

/* How much of a part is in the core file, which may be cut short. */
static uint64
bytes_there(const Core *core, const Elf64_Phdr *part)
{
	uint64		there = Min(part->p_filesz, part->p_memsz);

	if (part->p_offset >= core->length)
		return 0;
	return TYPEALIGN_DOWN(8, Min(there, core->length - part->p_offset));
}

/* Add what the core file has of a part, and what it has not. */
static void
add_part(Core *core, const Elf64_Phdr *part)
{
	PlhMapping	mapping = mapping_of(core, part);
	uint64		there = bytes_there(core, part);
	PlhHeapSegment segment = {
		mapping.from, mapping.to, NULL, mapping.path, mapping.file_offset,
		plh_heap_memory_flags(&mapping)
	};

	if (!plh_heap_memory_counts(&mapping) || mapping.to <= mapping.from)
		return;
	if (core->copy->registers.stack >= mapping.from && core->copy->registers.stack < mapping.to)
		segment.flags |= PLH_HEAP_STACK;
	if (there > 0)
	{
		segment.end = mapping.from + there;
		segment.bytes = core->bytes + part->p_offset;
		add_segment(core, &segment);
		core->copy->copied_bytes += there;
	}
	segment.start = mapping.from + there;
	segment.end = mapping.to;
	segment.file_offset += there;

	/* what the kernel leaves out was never written to */
	if (there < part->p_filesz)
		core->copy->unread_bytes += mapping.is_writable ? segment.end - segment.start : 0;
	else if (there < part->p_memsz && there % getpagesize() == 0 && mapping.path[0] == '/')
		add_from_file(core, segment);
}

static bool
is_in_part(const Core *core, uint64 address)
{
	for (uint32 i = 0; i < core->part_count; i++)
		if (core->parts[i].p_type == PT_LOAD && address >= core->parts[i].p_vaddr &&
			address - core->parts[i].p_vaddr < core->parts[i].p_memsz)
			return true;
	return false;
}

/* gcore leaves out what was not written to: that is what the files have. */
static void
add_files(Core *core)
{
	for (uint64 i = 0; i < core->file_count; i++)
	{
		const MappedFile *file = &core->files[i];
		PlhHeapSegment segment = {
			file->start, file->end, NULL, core->paths[i], file->page * core->file_page,
			PLH_HEAP_FILE
		};

		if (file->end > file->start && !is_shared(core->paths[i]) &&
			!is_in_part(core, file->start))
			add_from_file(core, segment);
	}
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* Find which file is the server's program: the one that is told, or that exports its variables. */
static void
find_binary(Core *core, const char *binary)
{
	PlhLookCopy *copy = core->copy;

	for (uint64 i = 0; i < core->file_count; i++)
	{
		const char *path = core->paths[i];
		uint64		address;

		if ((i > 0 && strcmp(path, core->paths[i - 1]) == 0) || is_shared(path))
			continue;
		if (binary == NULL ? plh_heap_variables_exported(path, "TopMemoryContext", &address) :
			strcmp(base_name(path), base_name(binary)) == 0)
		{
			copy->binary_name = path;
			copy->binary = binary != NULL ? binary : path;
			return;
		}
	}
	ereport(ERROR, (errmsg("\"%s\" is not of a server that is here", core->name),
					errhint("Name the program of the server by --binary: it has to be the "
							"very same version and build.")));
}

void
plh_look_core_read(PlhLookCopy *copy, const char *file, const char *binary)
{
	Core		core = {.copy = copy,.name = file};
	PlhHeapSegment registers = {
		.start = PLH_LOOK_REGISTERS_AT,.path = "",.flags = PLH_HEAP_ROOT
	};

	*copy = (PlhLookCopy)
	{
		.is_core = true,.root = ""
	};
	map_file(&core);
	read_parts(&core);
	copy->memory.segments = plh_heap_reserve(MAX_SEGMENTS * sizeof(PlhHeapSegment));
	copy->memory.room = MAX_SEGMENTS;
	if (copy->memory.segments == NULL)
		fail(&core, "is too large");
	for (uint32 i = 0; i < core.part_count; i++)
		if (core.parts[i].p_type == PT_NOTE && core.registers == NULL)
			read_notes(&core, &core.parts[i]);
	if (core.register_bytes == 0)
		fail(&core, "has no registers");
	copy->pid = core.pid;
	registers.bytes = core.registers;
	registers.end = registers.start + core.register_bytes;
	find_binary(&core, binary);
	add_segment(&core, &registers);
	for (uint32 i = 0; i < core.part_count; i++)
		if (core.parts[i].p_type == PT_LOAD)
			add_part(&core, &core.parts[i]);
	add_files(&core);
	order_segments(&core);
}
