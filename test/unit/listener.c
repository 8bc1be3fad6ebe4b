/*
 * listener.c
 *	  Listens at the USDT probes of this program, as tracers do: by a breakpoint where each is.
 *
 * Everything is taken from the notes in the program's file, as tracers do it.  The program is no PIE,
 * so that addresses in it are those in memory.
 */
#include "postgres.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "listener.h"

#ifdef __x86_64__
typedef uint8 Instruction;
#define BREAKPOINT 0xcc
#define ONE_ARGUMENT "8@%rdi"
#define THREE_ARGUMENTS "8@%rdi 8@%rsi 8@%rdx"
#else
typedef uint32 Instruction;
#define BREAKPOINT 0xd4200000
#define ONE_ARGUMENT "8@x0"
#define THREE_ARGUMENTS "8@x0 8@x1 8@x2"
#endif

/* A probe that is listened at. */
typedef struct Probe
{
	const char *name;
	const char *arguments;		/* that its note must have */
	int			notes;
	Instruction *place;
	uint16	   *listeners;
	Instruction original;
} Probe;

static Probe probes[2] = {
	{.name = "alloc",.arguments = THREE_ARGUMENTS},
	{.name = "free",.arguments = ONE_ARGUMENT}
};

HeardEvent	heard[MAX_HEARD];
int			heard_events;

static struct sigaction action_before;
static bool counted;

/* Note the arguments, which are in the registers of arguments, and go on behind the breakpoint. */
static void
hear(int signal_number, siginfo_t * info, void *arg)
{
	ucontext_t *context = arg;
	HeardEvent *event = &heard[Min(heard_events, MAX_HEARD - 1)];
	uintptr_t	place;

#ifdef __x86_64__
	greg_t	   *registers = context->uc_mcontext.gregs;

	place = registers[REG_RIP] - 1;
	event->pointer = (const void *) registers[REG_RDI];
	event->size = registers[REG_RSI];
	event->weight = registers[REG_RDX];
#else
	mcontext_t *machine = &context->uc_mcontext;

	place = machine->pc;
	machine->pc += sizeof(Instruction);
	event->pointer = (const void *) machine->regs[0];
	event->size = machine->regs[1];
	event->weight = machine->regs[2];
#endif
	event->is_free = place == (uintptr_t) probes[1].place;
	heard_events++;
}

/* What stands in a note behind its name: the format is that of SystemTap. */
typedef struct __attribute__ ((packed))
ProbeNote
{
	uint64		place;
	uint64		base;
	uint64		listeners;
	char		provider[];		/* then its name, and its arguments */
} ProbeNote;

static void
take_note(const ProbeNote *note)
{
	const char *name = note->provider + strlen(note->provider) + 1;
	const char *arguments = name + strlen(name) + 1;

	for (int i = 0; i < lengthof(probes); i++)
	{
		Probe	   *probe = &probes[i];

		if (strcmp(note->provider, "otel_memory") != 0 || strcmp(name, probe->name) != 0 ||
			strcmp(arguments, probe->arguments) != 0)
			continue;
		probe->notes++;
		probe->place = (Instruction *) note->place;
		probe->listeners = (uint16 *) note->listeners;
	}
}

/* Take the notes of a section. */
static void
take_notes(const char *start, const char *end)
{
	while (start < end)
	{
		const Elf64_Nhdr *header = (const Elf64_Nhdr *) start;
		const char *name = start + sizeof(*header);

		start = name + TYPEALIGN(4, header->n_namesz);
		if (header->n_type == 3 && strcmp(name, "stapsdt") == 0)
			take_note((const ProbeNote *) start);
		start += TYPEALIGN(4, header->n_descsz);
	}
}

/* Find both probes in a file in memory. */
static void
find_probes(const char *file)
{
	const		Elf64_Ehdr *header = (const Elf64_Ehdr *) file;
	const		Elf64_Shdr *sections = (const Elf64_Shdr *) (file + header->e_shoff);
	const char *names = file + sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++)
	{
		if (strcmp(names + sections[i].sh_name, ".note.stapsdt") == 0)
			take_notes(file + sections[i].sh_offset,
					   file + sections[i].sh_offset + sections[i].sh_size);
	}
}

static bool
read_program(void)
{
	int			fd = open("/proc/self/exe", O_RDONLY);
	struct stat status;
	char	   *file;

	if (fd < 0 || fstat(fd, &status) != 0)
		return false;
	file = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return false;
	find_probes(file);
	munmap(file, status.st_size);
	return true;
}

/* Store an instruction where a probe is.  No other thread runs. */
static bool
store(Probe *probe, Instruction instruction)
{
	uintptr_t	page_size = sysconf(_SC_PAGESIZE);
	void	   *page = (void *) ((uintptr_t) probe->place & ~(page_size - 1));

	if (mprotect(page, page_size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return false;
	*probe->place = instruction;
	__builtin___clear_cache((char *) probe->place, (char *) (probe->place + 1));
	return mprotect(page, page_size, PROT_READ | PROT_EXEC) == 0;
}

bool
listen_at_probes(bool is_counted)
{
	struct sigaction action = {.sa_sigaction = hear,.sa_flags = SA_SIGINFO};

	heard_events = 0;
	counted = is_counted;
	if (probes[0].place == NULL && !read_program())
		return false;
	if (probes[0].notes != 1 || probes[1].notes != 1)
		return false;
	sigaction(SIGTRAP, &action, &action_before);
	for (int i = 0; i < lengthof(probes); i++)
	{
		probes[i].original = *probes[i].place;
		if (!store(&probes[i], BREAKPOINT))
			return false;
		*probes[i].listeners += is_counted;
	}
	return true;
}

void
stop_listening(void)
{
	for (int i = 0; i < lengthof(probes); i++)
	{
		*probes[i].listeners -= counted;
		store(&probes[i], probes[i].original);
	}
	sigaction(SIGTRAP, &action_before, NULL);
}
