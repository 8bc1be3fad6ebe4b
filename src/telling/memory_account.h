/*
 * memory_account.h
 *	  What a server takes beside the private memory of its processes, who counts it, and what
 *	  limits it, in sentences and for programs.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/server_account.h"
#include "telling/sentences.h"

extern void plh_memory_account_say(PlhSaid *said, PlhServerAccount *account);

/* The member "memory": an object. */
extern void plh_memory_account_put(StringInfo json, PlhServerAccount *account);
