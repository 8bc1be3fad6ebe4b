/*
 * browser_log.c
 *	  What the page doc/look.html calls: the explanation of a text, in WebAssembly.
 *
 * The page has these files of C compiled into it, so that it says what pg_leakhunt_look says.  It
 * makes a new instance for each reading, which frees all that the last one took.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "reader/redaction.h"
#include "statistics/log_explanation.h"

#ifdef __wasm__
#define FOR_PAGE(name) __attribute__((export_name(name)))
#else
#define FOR_PAGE(name)
#endif

extern void plh_browser_begin(bool redact) FOR_PAGE("begin");
extern char *plh_browser_piece(void) FOR_PAGE("piece");
extern int	plh_browser_piece_bytes(void) FOR_PAGE("pieceBytes");
extern void plh_browser_add(int bytes) FOR_PAGE("add");
extern void plh_browser_end(void) FOR_PAGE("end");
extern const char *plh_browser_explanation(void) FOR_PAGE("explanation");

static PlhLogReading reading;

/* The page writes a piece of the text here. */
static char piece[256 * 1024];

void
plh_browser_begin(bool redact)
{
	plh_redaction_begin(redact);
	plh_log_reading_begin(&reading, false);
}

char *
plh_browser_piece(void)
{
	return piece;
}

int
plh_browser_piece_bytes(void)
{
	return sizeof(piece);
}

/* So much of the piece is text. */
void
plh_browser_add(int bytes)
{
	plh_log_reading_add(&reading, piece, bytes);
}

/* A file ends here; another one may follow. */
void
plh_browser_end(void)
{
	plh_log_reading_end(&reading);
}

/* What there is to say, in UTF-8. */
const char *
plh_browser_explanation(void)
{
	PlhSaid		said;

	plh_log_explanation_say(&said, &reading, PG_UTF8);
	return said.text.data;
}
