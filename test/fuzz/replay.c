/*
 * replay.c
 *	  Runs a target on the files that are named, each once: so any compiler can
 *	  build a test of the corpus.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/whole_io.h"
#include "fuzz.h"

/* Read a file into memory that ends where the file does. */
static uint8 *
read_file(const char *path, Size *bytes)
{
	int			fd = open(path, O_RDONLY);
	uint8	   *data;

	if (fd < 0)
	{
		fprintf(stderr, "could not open \"%s\"\n", path);
		exit(2);
	}
	*bytes = lseek(fd, 0, SEEK_END);
	data = malloc(*bytes);
	if (plh_whole_io_read(fd, data, *bytes, 0) != *bytes)
		abort();
	close(fd);
	return data;
}

int
main(int argc, char **argv)
{
	const char *target = last_dir_separator(argv[0]);

	fuzz_replays = true;

	for (int i = 1; i < argc; i++)
	{
		Size		bytes;
		uint8	   *data = read_file(argv[i], &bytes);

		/* said before, as it is the last word of a run that is stopped */
		printf("# %s\n", argv[i]);
		fflush(stdout);
		LLVMFuzzerTestOneInput(data, bytes);
		free(data);
	}
	printf("%s 1 - %s of %d inputs, not all refused\n1..1\n",
		   fuzz_accepted > 0 ? "ok" : "not ok",
		   target != NULL ? target + 1 : argv[0], argc - 1);
	return fuzz_accepted > 0 ? 0 : 1;
}
