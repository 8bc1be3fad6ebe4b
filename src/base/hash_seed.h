/*
 * hash_seed.h
 *	  Random numbers that hashes begin with, where others choose what is hashed.
 *
 * Whoever knows a hash function can make thousands of keys with the same hash, such as statements,
 * and let each look-up compare them all.
 *
 * This function may be called inside palloc.
 */
#pragma once

extern uint64 plh_hash_seed_draw(void);
