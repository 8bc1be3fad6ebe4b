/*
 * cppcheck.h
 *	  What cppcheck is told of PostgreSQL's macros, as it does not read the server's headers.
 */
#define foreach(cell, list) \
	for (ListCell *cell##_ = (cell = list_head(list)); cell != NULL; cell = lnext(list, cell))
#define unconstify(type, expression) ((type) (expression))
#define PG_TRY() do { if (sigsetjmp(buffer, 0) == 0) {
#define PG_CATCH() } else {
#define PG_FINALLY() } {
#define PG_END_TRY() } } while (0)
#define PG_MODULE_MAGIC_EXT(...) extern int magic
