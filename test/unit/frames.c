/*
 * frames.c
 *	  What debug_info.c says about addresses of a file, for comparison with
 *	  other tools, and for feeding it with damaged files.
 *
 * Usage: frames FILE BUILD-ID < ADDRESSES, all but FILE in hexadecimal, the
 * build-id empty if there is none.  Prints each address, and below it its
 * frames: function, file:line, the innermost first.
 */
#include "postgres.h"

#include "symbols/debug_info.h"

int
main(int argc, char **argv)
{
	PlhSourceFrame frames[PLH_MAX_INLINED];
	PlhDebugModule *module = NULL;
	PlhBinary	binary;
	PlhModuleStatus status;
	const char *file;
	char		line[64];
	unsigned char build_id[64];
	int			build_id_bytes = 0;

	if (argc != 3)
		return 2;
	while (build_id_bytes < sizeof(build_id) &&
		   sscanf(argv[2] + 2 * build_id_bytes, "%2hhx",
				  &build_id[build_id_bytes]) == 1)
		build_id_bytes++;

	binary.path = argv[1];
	binary.build_id = build_id;
	binary.build_id_bytes = build_id_bytes;
	binary.seen_at = PG_INT64_MAX;
	status = plh_debug_info_open(&binary, &module);
	if (module == NULL)
	{
		printf("status %d\n", status);
		return 1;
	}
	printf("source %d\n", plh_debug_info_source(module, &file));
	while (fgets(line, sizeof(line), stdin) != NULL)
	{
		uint64		address = strtoull(line, NULL, 16);
		int			count = plh_debug_info_frames(module, address, frames);

		printf("0x%llx\n", (unsigned long long) address);
		for (int i = 0; i < count; i++)
		{
			char	   *demangled = plh_debug_info_demangle(frames[i].function);
			const char *slash = frames[i].file == NULL ? NULL :
				strrchr(frames[i].file, '/');

			printf("%s\n%s:%d\n",
				   demangled != NULL ? demangled : frames[i].function,
				   frames[i].file == NULL ? "??" :
				   slash != NULL ? slash + 1 : frames[i].file,
				   frames[i].line);
			free(demangled);
		}
	}
	plh_debug_info_close(module);
	return 0;
}
