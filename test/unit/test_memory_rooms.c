/*
 * test_memory_rooms.c
 *	  How much memory limits leave, by files as the kernel writes them.
 */
#include "postgres.h"

#include "base/process_facts.h"
#include "unit_tests.h"

#define MB INT64CONST(1048576)

/* A file that is there. */
typedef struct KnownFile
{
	const char *path;
	const char *text;
} KnownFile;

#define MOST_FILES 32
static KnownFile known[MOST_FILES];

static bool
read_stub(const char *path, char *text, Size room)
{
	for (int i = 0; i < MOST_FILES && known[i].path != NULL; i++)
		if (strcmp(known[i].path, path) == 0)
		{
			strlcpy(text, known[i].text, room);
			return true;
		}
	return false;
}

#define plh_process_facts_read read_stub
#include "reader/control_group.c"
#include "reader/memory_room.c"
#undef plh_process_facts_read

static PlhMemoryRoom rooms[PLH_MEMORY_ROOMS];

static void
set_file(const char *path, const char *text)
{
	int			i = 0;

	while (known[i].path != NULL && strcmp(known[i].path, path) != 0)
		i++;
	known[i] = (KnownFile)
	{
		path, text
	};
}

/* A machine of 16 GB, of which 8 are available. */
static void
begin(void)
{
	memset(known, 0, sizeof(known));
	set_file("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\nSwapFree:              0 kB\nAnonPages:       2097152 kB\nShmem:           1048576 kB\n");
}

static void
test_machine(void)
{
	begin();
	ok(plh_memory_room_read(7, rooms) == 1 && !rooms[0].of_group, "without control groups there is the machine");
	ok(rooms[0].limit_bytes == 16384 * MB && rooms[0].room_bytes == 8192 * MB, "which has what is available");
	ok(rooms[0].private_bytes == 2048 * MB && rooms[0].shared_bytes == 1024 * MB, "and uses that");
	ok(rooms[0].waiting_percent == -1, "whether processes wait is not known");
	set_file("/proc/pressure/memory", "some avg10=12.50 avg60=3.00 avg300=1.00 total=461849\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=55007\n");
	plh_memory_room_read(7, rooms);
	ok(rooms[0].waiting_percent == 12.5, "or it is");
	set_file("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapFree: 1048576 kB\n");
	plh_memory_room_read(7, rooms);
	ok(rooms[0].room_bytes == 9216 * MB, "swap is room");
	known[0].path = "/proc/gone";
	ok(plh_memory_room_read(7, rooms) == 0, "without figures nothing is known");
}

static void
set_second_version(void)
{
	begin();
	set_file("/proc/7/cgroup", "0::/system.slice/postgresql.service\n");
	set_file("/sys/fs/cgroup/system.slice/postgresql.service/memory.max", "1073741824\n");
	set_file("/sys/fs/cgroup/system.slice/postgresql.service/memory.current", "1063256064\n");
	set_file("/sys/fs/cgroup/system.slice/postgresql.service/memory.stat", "anon 314572800\nfile 524288000\nshmem 104857600\ninactive_file 209715200\nactive_file 104857600\nslab_reclaimable 10485760\n");
	set_file("/sys/fs/cgroup/system.slice/memory.max", "max\n");
	set_file("/sys/fs/cgroup/memory.max", "2147483648\n");
	set_file("/sys/fs/cgroup/memory.current", "2147483648\n");
	set_file("/sys/fs/cgroup/memory.stat", "anon 2147483648\n");
}

static void
test_second_version(void)
{
	set_second_version();
	ok(plh_memory_room_read(7, rooms) == 3 && rooms[1].of_group && rooms[2].of_group, "each group that has a limit is one more");
	ok(rooms[1].limit_bytes == 1024 * MB && rooms[1].room_bytes == 320 * MB, "cached files, in use or not, and slabs are room");
	ok(rooms[1].private_bytes == 300 * MB && rooms[1].shared_bytes == 100 * MB, "shared memory is none");
	ok(rooms[2].limit_bytes == 2048 * MB && rooms[2].room_bytes == 0, "the outer one has no room");
	set_file("/sys/fs/cgroup/system.slice/postgresql.service/memory.pressure", "some avg10=30.00 avg60=3.00 avg300=1.00 total=1\n");
	plh_memory_room_read(7, rooms);
	ok(rooms[1].waiting_percent == 30 && rooms[2].waiting_percent == -1, "a group tells whether its processes wait");
	set_file("/sys/fs/cgroup/memory.max", "1125899906842624\n");
	ok(plh_memory_room_read(7, rooms) == 2, "a limit beyond the machine is none");
}

static void
test_swap(void)
{
	set_second_version();
	set_file("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapFree: 1048576 kB\n");
	plh_memory_room_read(7, rooms);
	ok(rooms[1].room_bytes == (320 + 1024) * MB, "a group without a limit of swap has all of it");
	set_file("/sys/fs/cgroup/system.slice/postgresql.service/memory.swap.max", "max\n");
	plh_memory_room_read(7, rooms);
	ok(rooms[1].room_bytes == (320 + 1024) * MB, "so has one that may have any");
	set_file("/sys/fs/cgroup/system.slice/postgresql.service/memory.swap.max", "104857600\n");
	set_file("/sys/fs/cgroup/system.slice/postgresql.service/memory.swap.current", "52428800\n");
	plh_memory_room_read(7, rooms);
	ok(rooms[1].room_bytes == (320 + 50) * MB, "with a limit it has what it does not use");
	set_file("/sys/fs/cgroup/system.slice/postgresql.service/memory.swap.max", "0\n");
	plh_memory_room_read(7, rooms);
	ok(rooms[1].room_bytes == 320 * MB, "or none");
}

static void
test_first_version(void)
{
	begin();
	set_file("/proc/7/cgroup", "5:cpu:/\n4:memory:/docker/abc\n0::/\n");
	set_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
	set_file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "524288000\n");
	set_file("/sys/fs/cgroup/memory/memory.stat", "rss 1\ninactive_file 1\nactive_file 1\ntotal_rss 314572800\ntotal_shmem 20971520\ntotal_inactive_file 52428800\ntotal_active_file 104857600\n");
	ok(plh_memory_room_read(7, rooms) == 2, "in a container, what is mounted is its group");
	ok(rooms[1].limit_bytes == 512 * MB && rooms[1].room_bytes == 162 * MB, "figures of the first version include groups within");
	ok(rooms[1].private_bytes == 300 * MB && rooms[1].shared_bytes == 20 * MB, "all of them");

	/* of memory and swap, 600 MB are left to it; 12 MB of that without swap */
	set_file("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapFree: 1048576 kB\n");
	set_file("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "1153433600\n");
	set_file("/sys/fs/cgroup/memory/memory.memsw.usage_in_bytes", "524288000\n");
	plh_memory_room_read(7, rooms);
	ok(rooms[1].room_bytes == (162 + 600 - 12) * MB, "its limit of swap is one of memory and swap");
	set_file("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "536870912\n");
	plh_memory_room_read(7, rooms);
	ok(rooms[1].room_bytes == 162 * MB, "where it is the same as that of memory, there is no swap");
}

void
test_memory_rooms(void)
{
	test_machine();
	test_second_version();
	test_swap();
	test_first_version();
}
