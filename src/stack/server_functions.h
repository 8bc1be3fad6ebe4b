/*
 * server_functions.h
 *	  Where functions of the server lie, by its dynamic symbols.
 */
#pragma once

#include "stack/call_frame_info.h"

/* Outside of palloc. */
extern bool plh_server_functions_find(const char *name, PlhCodeRange *range);
extern void plh_server_functions_find_wrappers(void);

/* Anywhere: is it an address in a function that allocates for its caller? */
extern bool plh_server_functions_is_wrapper(uintptr_t address);
