/*
 * server_limit.h
 *	  Looks whether all processes have more memory than they may, and asks one of them to act.
 *
 * Only the keeper calls this.
 */
#pragma once

/* It looks this often, where there is a limit. */
#define PLH_SERVER_LIMIT_MS 1000

/* Does nothing where there is none. */
extern void plh_server_limit_look(void);
