/*
 * forecast_watch.h
 *	  Foresees when memory will run out, tells all who ask, and has it logged.
 *
 * The keeper calls this.  Never called inside palloc.
 */
#pragma once

/* Look, if it is time to.  Never throws. */
extern void plh_forecast_watch_look(void);

/* How soon it is to look again, in milliseconds; -1: never, as nothing is to be foreseen. */
extern long plh_forecast_watch_pause_ms(void);
