/*
 * test_dump_retention.c
 *	  Which dump files stay, and which go: by their number, bytes and age.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/directory_names.h"

static int	visit_in_order(const char *directory, PlhNameVisitor visit, void *arg);

#define plh_directory_names_visit visit_in_order
#include "dump/dump_retention.c"
#undef plh_directory_names_visit

#include "small_file_system.h"
#include "unit_tests.h"

#define HOUR 3600

int			plh_dump_keep;
double		plh_dump_max_size;

/* The names in a directory, in an order that does not depend on the file system. */
#define MAX_NAMES 4096
#define NAME_BYTES 64

static char names[MAX_NAMES][NAME_BYTES];
static int	name_count;

static void
keep_name(const char *name, void *arg)
{
	if (name_count < MAX_NAMES)
		strlcpy(names[name_count++], name, NAME_BYTES);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int
visit_in_order(const char *directory, PlhNameVisitor visit, void *arg)
{
	int			failure;

	name_count = 0;
	failure = plh_directory_names_visit(directory, keep_name, NULL);
	qsort(names, name_count, NAME_BYTES, compare_names);
	for (int i = 0; i < name_count; i++)
		visit(names[i], arg);
	return failure;
}

static const char *
path_of(const char *name)
{
	static char path[MAXPGPATH];

	snprintf(path, sizeof(path), "%s/%s", plh_load_settings.dump_directory, name);
	return path;
}

/* Make a file of that size which was written some seconds ago. */
static bool
try_make_file(const char *name, int bytes, int age)
{
	int			fd = open(path_of(name), O_CREAT | O_WRONLY, 0600);
	struct timespec times[2];

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age;
	times[1] = times[0];
	if (fd < 0 || ftruncate(fd, bytes) != 0 || futimens(fd, times) != 0)
		return false;
	return close(fd) == 0;
}

static void
make_file(const char *name, int bytes, int age)
{
	ok(try_make_file(name, bytes, age), "a file is made");
}

static bool
is_there(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static const char *
dump_name(const char *reason, int number)
{
	static char name[NAME_BYTES];

	snprintf(name, sizeof(name), "%d.1.%s.profile", number, reason);
	return name;
}

/* Make dumps of a reason, each a second younger than the one before. */
static void
make_dumps(const char *reason, int first, int count)
{
	bool		made = true;

	for (int i = 0; i < count; i++)
		made = try_make_file(dump_name(reason, first + i), 1, 5000 - i) && made;
	ok(made, "dumps are made");
}

/* How many of these are left? */
static int
count_dumps(const char *reason, int first, int count)
{
	int			left = 0;

	for (int i = 0; i < count; i++)
		left += is_there(dump_name(reason, first + i));
	return left;
}

/* Which dumps stay by the settings? */
static void
trim(int keep, int max_size)
{
	plh_dump_keep = keep;
	plh_dump_max_size = max_size;
	ok(plh_dump_retention_trim() == 0, "old dumps are removed");
}

/* Of each reason the youngest stay. */
static void
test_numbers(void)
{
	make_file("1.1.exit.profile", 10, 40);
	make_file("1.1.exit.heap", 10, 40);
	make_file("2.1.exit.profile", 10, 10);
	make_file("3.1.exit.profile", 10, 30);
	make_file("3.1.exit.heap", 10, 5);
	make_file("4.1.manual.profile", 10, 99);
	make_file("5.1.manual.profile", 10, 98);
	trim(2, 1000000);
	ok(!is_there("1.1.exit.profile") && is_there("2.1.exit.profile") &&
	   is_there("3.1.exit.profile"), "the oldest dump of a reason goes");
	ok(!is_there("1.1.exit.heap") && is_there("3.1.exit.heap"),
	   "the text of a dump goes with it");
	ok(is_there("4.1.manual.profile") && is_there("5.1.manual.profile"),
	   "dumps of one reason do not push out those of another");
	trim(1, 1000000);
	ok(!is_there("3.1.exit.profile") && !is_there("3.1.exit.heap") &&
	   is_there("2.1.exit.profile"), "the age of a dump is not that of its text");
	trim(0, 1000000);
	ok(!is_there("2.1.exit.profile") && !is_there("4.1.manual.profile") &&
	   !is_there("5.1.manual.profile"), "with dump_keep = 0 no dump stays");
}

/* What is too large goes from the reason that has the most bytes. */
static void
test_bytes(void)
{
	make_file("1.1.exit.profile", 400, 50);
	make_file("2.1.exit.profile", 100, 40);
	make_file("3.1.exit.profile", 100, 30);
	make_file("4.1.manual.profile", 200, 99);
	make_file("5.1.manual.profile", 200, 98);
	trim(10, 1000);
	ok(is_there("1.1.exit.profile") && is_there("4.1.manual.profile"),
	   "dumps may take dump_max_size as a whole");
	trim(10, 999);
	ok(!is_there("1.1.exit.profile") && is_there("2.1.exit.profile"),
	   "beyond dump_max_size the oldest dump of the largest reason goes");
	ok(is_there("4.1.manual.profile") && is_there("5.1.manual.profile"),
	   "beyond dump_max_size the dumps of smaller reasons stay");
	make_file("3.1.exit.heap", 50, 30);
	trim(10, 600);
	ok(!is_there("4.1.manual.profile") && is_there("2.1.exit.profile"),
	   "texts count among the bytes of dumps");
	trim(10, 0);
	ok(is_there("3.1.exit.profile") && is_there("5.1.manual.profile") &&
	   !is_there("2.1.exit.profile"), "the youngest dump of each reason stays");
	trim(0, 0);
}

/* More dumps than one look at the directory removes. */
static void
test_many(void)
{
	make_dumps("crash", 1, 40);
	trim(3, 1000000);
	ok(count_dumps("crash", 1, 40) == 3 && is_there("38.1.crash.profile") &&
	   is_there("40.1.crash.profile"), "of many dumps the youngest stay");
	trim(0, 0);
}

/* More dumps than one look at the directory chooses from. */
static void
test_not_listed(void)
{
	/*
	 * these names come behind that of the first file, and before those of the
	 * others
	 */
	const int	first = 20000;
	const int	count = MAX_DUMPS - 1;

	make_file("1.1.manual.profile", 10, 1);
	make_file("3.1.manual.profile", 10, 50);
	make_file("4.1.manual.profile", 10, 60);
	make_dumps("exit", first, count);
	trim(1, 1000000);
	ok(is_there("1.1.manual.profile"),
	   "the only dump of a reason that is chosen from stays, as it may be the youngest");
	ok(count_dumps("exit", first, count) == count - MAX_REMOVED,
	   "dumps go of another reason than the one of which none may go");
	trim(1, 1000000);
	ok(is_there("1.1.manual.profile") && !is_there("3.1.manual.profile") &&
	   !is_there("4.1.manual.profile"), "the older ones go when there is a place for them");
}

/* What is no dump, and what a killed writer has left. */
static void
test_other_files(void)
{
	make_file("notes", 1000, 9 * HOUR);
	make_file("1.1.exit.profile.gz", 1000, 9 * HOUR);
	make_file("7.1.exit.heap", 1000, 9 * HOUR);
	make_file("8.1.tmp", 1, HOUR - 60);
	make_file("9.1.tmp", 1, HOUR + 60);
	trim(0, 0);
	ok(is_there("notes") && is_there("1.1.exit.profile.gz"),
	   "files that are no dumps stay");
	ok(!is_there("7.1.exit.heap"), "a text without its dump counts as a dump");
	ok(is_there("8.1.tmp") && is_there("9.1.tmp"),
	   "incomplete files are not counted as dumps");
	plh_dump_retention_remove_abandoned();
	ok(is_there("8.1.tmp"), "an incomplete file may still be written");
	ok(!is_there("9.1.tmp"), "a file that has lost its writer is removed");
	ok(is_there("notes"), "no other file is taken for an incomplete one");
}

void
test_dump_retention(void)
{
	make_directory(plh_load_settings.dump_directory,
				   sizeof(plh_load_settings.dump_directory));
	test_numbers();
	test_bytes();
	test_many();
	test_other_files();
	test_not_listed();
	remove_directory(plh_load_settings.dump_directory);
	ok(plh_dump_retention_trim() == 0, "without a directory there is nothing to remove");
	plh_load_settings.dump_directory[0] = '\0';
}
