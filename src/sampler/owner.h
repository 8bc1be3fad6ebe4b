/*
 * owner.h
 *	  The process that owns a profile: begins it, and fills in what its header says of the process.
 *
 * These functions may be called inside palloc, except in a critical section; they never palloc,
 * throw or lock.
 */
#pragma once

/* The interval at which samples are taken at present; 0: none are. */
extern uint32 plh_owner_interval;

extern void plh_owner_start(uint64 cluster);
extern bool plh_owner_begin_profile(void);
extern void plh_owner_identify(void);
extern void plh_owner_update_header(void);
extern void plh_owner_settings_changed(uint32 sample_interval, int scope);
extern void plh_owner_note_malloc(const uint64 *other_bytes);
