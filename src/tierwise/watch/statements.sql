-- Statements of a watch; in braces is what Python puts in. `docs/watch-security.md` shows each one as it is sent.

-- name: process
SELECT pg_backend_pid()

-- name: rights
SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')

-- name: clock
SELECT current_setting('tierwise.clock', true)

-- name: server
SELECT d.oid::bigint, d.datname, pg_postmaster_start_time()::text, pg_is_in_recovery(), current_setting('server_version'),
       current_setting('track_io_timing') = 'on', pg_size_bytes(current_setting('shared_buffers')),
       (SELECT count(*) FROM pg_stat_replication), EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_stat_statements'),
       CASE WHEN EXISTS (SELECT FROM pg_proc WHERE proname = 'aurora_version') THEN 'aurora'
            WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_superuser') OR current_setting('rds.extensions', true) <> '' THEN 'rds'
            WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = 'cloudsqlsuperuser')
                 OR current_setting('cloudsql.iam_authentication', true) <> '' THEN 'cloudsql'
            WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = 'azure_pg_admin')
                 OR current_setting('azure.extensions', true) <> '' THEN 'azure'
            ELSE '' END,
       current_setting('is_superuser') = 'on',
       (extract(epoch FROM now() - (SELECT greatest(s.stats_reset, w.stats_reset) FROM pg_stat_database AS s, pg_stat_bgwriter AS w
                                    WHERE s.datid = d.oid)) / 86400)::float8,
       (SELECT system_identifier::text FROM pg_control_system()),
       CASE current_setting('io_method', true) WHEN 'worker' THEN current_setting('io_workers')::int END
FROM pg_database AS d WHERE d.datname = current_database()

-- name: databases
SELECT datname FROM pg_database
WHERE datallowconn AND NOT datistemplate AND has_database_privilege(oid, 'CONNECT')

-- name: activity
SELECT pid, datid::bigint, backend_type, state, wait_event_type, wait_event, leader_pid,
       extract(epoch FROM clock_timestamp() - xact_start)::float8
FROM pg_stat_get_activity(NULL)
WHERE pid <> pg_backend_pid() AND (state <> 'idle' OR state IS NULL)

-- name: names
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, coalesce(i.indrelid, p.oid, 0)::bigint, coalesce(t.spcname, dt.spcname),
       coalesce(pg_relation_filepath(c.oid), ''), pg_tablespace_location(coalesce(t.oid, dt.oid)),
       coalesce(h.inhparent, 0)::bigint,
       coalesce(i.indisunique OR i.indisprimary OR i.indisexclusion OR i.indisreplident OR i.indexprs IS NOT NULL, false),
       pg_stat_get_numscans(c.oid)
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_database AS d ON d.datname = current_database()
JOIN pg_tablespace AS dt ON dt.oid = d.dattablespace
LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace
LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
LEFT JOIN pg_class AS p ON c.relkind = 't' AND p.reltoastrelid = c.oid
LEFT JOIN pg_inherits AS h ON h.inhrelid = c.oid AND c.relispartition
WHERE c.oid = ANY (%s)

-- name: locked
SELECT DISTINCT relation::bigint FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation IS NOT NULL

-- name: size
SELECT o.oid::bigint, pg_relation_size(o.oid)
FROM pg_class AS c
LEFT JOIN pg_index AS i ON i.indrelid = c.reltoastrelid
JOIN LATERAL unnest(ARRAY[c.oid, c.reltoastrelid, i.indexrelid]) AS o (oid) ON o.oid <> 0 AND o.oid <> ALL (%s::oid[])
WHERE c.oid = %s::oid

-- name: relations
COPY (SELECT c.oid::bigint AS relation, c.relfilenode::bigint AS file, c.reltablespace::bigint AS place, c.relpages AS pages, {counters}
      FROM pg_class AS c WHERE c.relkind IN ('r', 'i', 't', 'm')) TO STDOUT (FORMAT csv, HEADER)

-- name: view
SELECT {source.key}, {source.reset}::text, {counters} FROM {source.table}

-- name: statements
SELECT {source.key}, {source.reset}::text, {counters} FROM {source.table}
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY queryid
