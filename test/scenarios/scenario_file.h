/*
 * scenario_file.h
 *	  A file with a scenario: its lines, and the answers that are expected in it.
 */
#ifndef SCENARIO_FILE_H
#define SCENARIO_FILE_H

typedef struct ScenarioFile
{
	const char *path;
	int			count;
	char	  **lines;			/* without their ends */
	const char *title;			/* of its first line */
} ScenarioFile;

/* Ends the program if the file can't be read, or has no title. */
extern ScenarioFile *scenario_file_read(const char *path);

/* Is a line, by its index, one of an answer? */
extern bool scenario_file_is_answer(const ScenarioFile *file, int index);

/* The answer behind a line, its lines without what introduces them; malloc'd. */
extern char *scenario_file_answer(const ScenarioFile *file, int index);

/* Let the answers behind lines be these, by index; NULL: as it is. */
extern void scenario_file_accept(const ScenarioFile *file, char *const *answers);

#endif							/* SCENARIO_FILE_H */
