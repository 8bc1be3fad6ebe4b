/*
 * record_numbers.h
 *	  The numbers by which records are found, such as those by which lines of a
 *	  dump refer to earlier lines.
 *
 * Never called inside palloc.
 */
#ifndef PLH_RECORD_NUMBERS_H
#define PLH_RECORD_NUMBERS_H

typedef struct PlhRecordNumbers PlhRecordNumbers;

/* They belong to the current memory context. */
extern PlhRecordNumbers *plh_record_numbers_create(void);

/* Returns false if the number is there already. */
extern bool plh_record_numbers_add(PlhRecordNumbers *numbers, uint32 number,
								   uint32 offset);

/* Returns 0 if the number is not there. */
extern uint32 plh_record_numbers_find(PlhRecordNumbers *numbers, uint32 number);

#endif							/* PLH_RECORD_NUMBERS_H */
