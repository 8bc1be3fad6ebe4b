-- The settings: defaults, limits and errors.
SET client_min_messages = warning;
LOAD 'pg_leakhunt';

-- (some are the postmaster's where it has loaded the module)
SELECT name, boot_val, unit, min_val, max_val,
       replace(context, 'postmaster', 'sighup') AS context, vartype
FROM pg_settings WHERE name LIKE 'pg\_leakhunt.%' ORDER BY name COLLATE "C";
-- each has its meaning as a sentence, a unit unless it counts, and no number that must
-- be calculated from its form; SHOW and pg_settings say the same
SELECT name, setting, unit, short_desc FROM pg_settings
WHERE name LIKE 'pg\_leakhunt.%' AND
    (short_desc !~ '^[A-Z].*\.$' OR
     concat_ws(' ', setting, boot_val, reset_val, min_val, max_val) ~ '[0-9.]e[+-]?[0-9]' OR
     (vartype IN ('integer', 'real') AND unit IS NULL AND short_desc !~* '\mnumber of ') OR
     CASE WHEN unit = 's' THEN (setting || unit)::interval <> current_setting(name)::interval
         WHEN unit LIKE '%B' THEN pg_size_bytes(setting || ' ' || regexp_replace(unit, '^B$', 'bytes')) <> pg_size_bytes(current_setting(name)) END);

-- (the text differs between releases)
\set VERBOSITY sqlstate
SET pg_leakhunt.sample_interval = 0;
\set VERBOSITY default
SET pg_leakhunt.sample_interval = '1GB';
SHOW pg_leakhunt.sample_interval;
SET pg_leakhunt.sample_interval = '4GB';
SET pg_leakhunt.scope = 'some';
SET pg_leakhunt.scope = 'all';
SHOW pg_leakhunt.scope;
SET pg_leakhunt.process_memory_limit = '1MB';
SET pg_leakhunt.limit_action = 'panic';
RESET pg_leakhunt.sample_interval;
RESET pg_leakhunt.scope;

-- those of the server's configuration file
SET pg_leakhunt.enabled = off;
\set VERBOSITY sqlstate
SET pg_leakhunt.max_live_samples = 17;
SET pg_leakhunt.dump_directory = '';
\set VERBOSITY default
ALTER SYSTEM SET pg_leakhunt.log = 'exits, verdicts';
SET pg_leakhunt.no_such_setting = 1;

-- the interval of a function's own
CREATE FUNCTION interval_inside() RETURNS text LANGUAGE plpgsql
    SET pg_leakhunt.sample_interval = 1
    AS $$ BEGIN RETURN current_setting('pg_leakhunt.sample_interval'); END $$;
SELECT interval_inside();
SELECT current_setting('pg_leakhunt.sample_interval') <> '1B' AS back;
DROP FUNCTION interval_inside();
