/*
 * forecast_words.c
 *	  When memory will run out, and whose growth it is, in sentences and for programs.
 */
#include "postgres.h"

#include "base/plural.h"
#include "process/forecast_place.h"
#include "report/json.h"
#include "report/words.h"
#include "telling/forecast_words.h"

#define US INT64CONST(1000000)

/* From this part of all growth on, growth is told as the server's, or as shared memory. */
#define SERVER_PERCENT 50
#define SHARED_PERCENT 20

/* Below that, waiting for memory is not told. */
#define WAITING_PERCENT 1

/* The units of times: one in which there are two at least. */
static const struct
{
	int64		us;
	const char *one;
	const char *many;
}			units[] = {
	{3600 * US, "hour", "hours"}, {60 * US, "minute", "minutes"}, {US, "second", "seconds"}
};

static int64
unit_of(int64 us)
{
	int			i = 0;

	while (i < lengthof(units) - 1 && us < 2 * units[i].us)
		i++;
	return i;
}

/* A time, and the range that it may be in, in the same unit. */
static void
put_times(PlhFields *fields, const PlhControlForecast *forecast)
{
	int64		unit = unit_of(forecast->left_us);
	int64		us = units[unit].us;
	int64		span = (forecast->left_us + us / 2) / us;

	fields->span = psprintf(INT64_FORMAT " %s", span,
							plh_plural(span, units[unit].one, units[unit].many));
	fields->early = psprintf(INT64_FORMAT, forecast->soonest_us / us);
	fields->late = psprintf(INT64_FORMAT, (forecast->latest_us + us - 1) / us);
}

static PlhFields
fields_of(const PlhControlForecast *forecast)
{
	PlhFields	fields = {
		.pid = forecast->pid,
		.count = forecast->processes,
		.percent = psprintf("%d", forecast->percent),
		.bytes = plh_words_size(forecast->room_bytes),
		.limit = plh_words_size(forecast->limit_bytes),
		.rate = plh_words_size(forecast->bytes_per_second),
		.freed = plh_words_size(forecast->freed_bytes)
	};

	put_times(&fields, forecast);
	return fields;
}

char *
plh_forecast_words_headline(const PlhControlForecast *forecast)
{
	PlhFields	fields = fields_of(forecast);

	return plh_sentences_phrase(forecast->pid == 0 ? PLH_SAYS_log_forecast :
								forecast->processes > 1 ? PLH_SAYS_log_forecast_several :
								PLH_SAYS_log_forecast_process, true, &fields);
}

/* What is left, and whose growth it is beside that of the processes that are named. */
static void
say_rest(PlhSaid *said, const PlhControlForecast *forecast, const PlhFields *fields)
{
	if (forecast->pid != 0)
		plh_sentences_say(said, PLH_SAYS_forecast_freed, true, fields);
	if (forecast->server_percent < SERVER_PERCENT)
		PLH_SAY(said, true, forecast_others,.percent = psprintf("%d", forecast->server_percent));
	if (forecast->shared_percent >= SHARED_PERCENT)
		PLH_SAY(said, true, forecast_shared,.percent = psprintf("%d", forecast->shared_percent));
	if (forecast->waiting_percent >= WAITING_PERCENT)
		PLH_SAY(said, true, forecast_waiting,
				.percent = psprintf("%d", forecast->waiting_percent));
}

static void
say_room(PlhSaid *said, const PlhControlForecast *forecast, const PlhFields *fields)
{
	plh_sentences_say(said, forecast->of_group ? PLH_SAYS_forecast_of_group :
					  PLH_SAYS_forecast_of_machine, true, fields);
}

void
plh_forecast_words_say_detail(PlhSaid *said, const PlhControlForecast *forecast)
{
	PlhFields	fields = fields_of(forecast);

	say_room(said, forecast, &fields);
	say_rest(said, forecast, &fields);
}

void
plh_forecast_words_say(PlhSaid *said)
{
	PlhControlForecast forecast;
	PlhFields	fields;

	if (!plh_forecast_place_get(&forecast))
		return;
	fields = fields_of(&forecast);
	plh_sentences_line(said, PLH_SAYS_forecast, true, &fields);
	say_room(said, &forecast, &fields);
	if (forecast.pid != 0)
		plh_sentences_say(said, forecast.processes > 1 ? PLH_SAYS_forecast_several :
						  PLH_SAYS_forecast_process, true, &fields);
	say_rest(said, &forecast, &fields);
}

void
plh_forecast_words_put(StringInfo json)
{
	PlhControlForecast forecast;

	if (!plh_forecast_place_get(&forecast))
		return;
	plh_json_put_open(json, "forecast", '{');
	plh_json_put_number(json, "seconds", forecast.left_us / US);
	plh_json_put_number(json, "soonest_seconds", forecast.soonest_us / US);
	plh_json_put_number(json, "latest_seconds", forecast.latest_us / US);
	plh_json_put_flag(json, "control_group", forecast.of_group);
	plh_json_put_number(json, "limit_bytes", forecast.limit_bytes);
	plh_json_put_number(json, "room_bytes", forecast.room_bytes);
	plh_json_put_number(json, "bytes_per_second", forecast.bytes_per_second);
	plh_json_put_if(json, "pid", forecast.pid != 0, forecast.pid);
	plh_json_put_number(json, "processes", forecast.processes);
	plh_json_put_number(json, "percent", forecast.percent);
	plh_json_put_number(json, "server_percent", forecast.server_percent);
	plh_json_put_number(json, "shared_percent", forecast.shared_percent);
	plh_json_put_if(json, "waiting_percent", forecast.waiting_percent >= 0,
					forecast.waiting_percent);
	plh_json_put_if(json, "freed_bytes", forecast.pid != 0, forecast.freed_bytes);
	plh_json_close(json, '}');
}
