/*
 * message_sentences.h
 *	  What messages about memory mean, what they leave open, and what to do.
 *
 * Never called inside palloc.
 */
#pragma once

#include "statistics/log_reading.h"
#include "telling/sentences.h"

extern void plh_message_sentences_say(PlhSaid *said, const PlhMemoryMessage *message,
									  const PlhLogReading *reading);

/* Of the last report of the kernel, if the text has one. */
extern void plh_message_sentences_say_oom(PlhSaid *said, const PlhOomReport *oom);
