/*
 * modules.h
 *	  The modules of this process, which are the executable and the loaded libraries, and the
 *	  way from an address to one of them.
 *
 * These functions may be called inside palloc; they never palloc or throw.  The pointers in a
 * PlhModule belong to the dynamic linker and live as long as the module is loaded.
 */
#pragma once

typedef struct PlhModule
{
	uintptr_t	text_start;		/* executable segment, as mapped */
	uintptr_t	text_end;
	uintptr_t	load_bias;		/* address minus address in the ELF file */
	uint64		text_file_offset;	/* of the executable segment, in bytes */
	const char *path;
	const uint8 *build_id;		/* NULL if the module has none */
	uint32		build_id_bytes;
	const uint8 *unwind_table;	/* .eh_frame_hdr; NULL if there is none */
	uint32		profile_index;	/* in this process' profile; 0: not there */
} PlhModule;

/* How many modules were unloaded, as of the last refresh. */
extern unsigned long long plh_modules_unloaded;

extern void plh_modules_refresh(void);
extern PlhModule *plh_modules_find(uintptr_t address);
extern const PlhModule *plh_modules_executable(void);
extern PlhModule *plh_modules_of_profile(uint32 index);
extern void plh_modules_forget_profile(void);
