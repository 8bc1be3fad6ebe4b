-- For the PostgreSQL plugin of Zabbix agent 2: a custom query, which zabbix-template.yml asks
-- for.  Call sites and statements are left out: an item stays the same item whatever its name.
SELECT name AS metric, coalesce(backend_type, '') AS backend_type,
    coalesce(verdict, '') AS verdict, coalesce(context_name, '') AS context_name,
    CASE name WHEN 'statement_peak_bytes' THEN max(value) ELSE sum(value) END AS value,
    CASE WHEN right(name, 17) = '_bytes_per_second' THEN 'Bps'
        WHEN right(name, 6) = '_bytes' THEN 'B'
        WHEN right(name, 8) = '_seconds' THEN 's'
        ELSE '' END AS unit
FROM pg_leakhunt_metrics
GROUP BY name, backend_type, verdict, context_name
