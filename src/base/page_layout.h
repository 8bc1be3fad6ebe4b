/*
 * page_layout.h
 *	  Keeps on few pages what each process of the server needs, however short it lives.
 *
 * A server may fork hundreds of processes per second, most of which end before they take a sample.
 * Each takes a page fault, of one microsecond or several, for every page of variables that it
 * writes to, or that it reads and its parent never did, and for every 64 kB of code that it passes
 * through.
 */
#pragma once

/* A function that runs at a fork, an allocation, a commit or an exit. */
#define PLH_EVERY_PROCESS __attribute__((hot))

/*
 * A variable of some 200 bytes or more, 0 at first.  The linker sorts variables by the names of
 * their sections (Makefile), and so puts these behind all others.  AddressSanitizer would not check
 * what has a section of its own.
 */
#ifdef __SANITIZE_ADDRESS__
#define PLH_LARGE
#else
#define PLH_LARGE __attribute__((section(".bss.zz_large")))
#endif
