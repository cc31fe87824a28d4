-- {{ title }}
-- tierwise never runs this file. Read it, then run sh plan.sh, which also looks after free space, retries and its journal,
-- or psql -X -f FILE DATABASE. It stops at the first condition that does not hold; a second run skips what is there already.
-- Variables of psql (-v NAME=VALUE):
--   step         the one step to run; -1 only checks the conditions, -2 only places new partitions [default: 0, all steps]
--   directories  yes: each standby and restored archive has the directories of the tablespaces [default: no]
--   lock_s       seconds to wait for a lock [default: 2]
--   old_s        seconds to wait for older transactions before an index is rebuilt [default: 600]
\set ON_ERROR_STOP on
\set QUIET on
\if :{?step}
\else
\set step 0
\endif
\if :{?directories}
\else
\set directories no
\endif
\if :{?lock_s}
\else
\set lock_s 2
\endif
\if :{?old_s}
\else
\set old_s 600
\endif
SET standard_conforming_strings = on;
SET search_path = pg_catalog;
SET application_name = 'tierwise plan';
SET statement_timeout = 0;
SELECT set_config('tierwise.directories', :'directories', false) AS ignored,
       set_config('tierwise.old_s', :'old_s', false) AS ignored,
       set_config('lock_timeout', :'lock_s' || 's', false) AS ignored,
       set_config('tierwise.database', {{ literal(database) }}, false) AS ignored,
       set_config('tierwise.system', {{ literal(system) }}, false) AS ignored,
       set_config('tierwise.steps', {{ literal(steps_json) }}, false) AS ignored
\gset

DO $conditions$
DECLARE
    step record;
    seen record;
BEGIN
    IF current_database() <> current_setting('tierwise.database') THEN
        RAISE EXCEPTION 'this plan is for the database %, not for %', current_setting('tierwise.database'), current_database();
    ELSIF current_setting('tierwise.system') NOT IN ('', (SELECT system_identifier::text FROM pg_control_system())) THEN
        RAISE EXCEPTION 'this is not the server that was watched: its system identifier is another'
            USING HINT = 'Set PGHOST and PGPORT to those of the server that was watched.';
    ELSIF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'this server is a standby' USING HINT = 'Run the plan on the primary.';
    ELSIF EXISTS (SELECT FROM pg_roles WHERE rolname IN ('rds_superuser', 'cloudsqlsuperuser', 'azure_pg_admin'))
            OR EXISTS (SELECT FROM pg_proc WHERE proname = 'aurora_version') OR current_setting('rds.extensions', true) <> ''
            OR current_setting('cloudsql.iam_authentication', true) <> '' OR current_setting('azure.extensions', true) <> '' THEN
        RAISE EXCEPTION 'this is a managed service, which has no tablespaces of your own' USING HINT = 'Change the type or the IOPS of its volume.';
    ELSIF NOT pg_try_advisory_lock(7461947733) THEN
        RAISE EXCEPTION 'another run of a plan is at work in this database' USING HINT = 'Wait until its session "tierwise plan" has ended.';
    ELSIF current_setting('tierwise.directories') <> 'yes' AND (current_setting('archive_mode') <> 'off'
            OR EXISTS (SELECT FROM pg_stat_replication) OR EXISTS (SELECT FROM pg_replication_slots)) THEN
        RAISE EXCEPTION 'standbys, replication slots or an archive will replay this plan'
            USING HINT = 'Create the directories of the tablespaces wherever the log is replayed. Then confirm: DIRECTORIES=yes sh plan.sh';
    END IF;
    FOR step IN
        SELECT * FROM jsonb_to_recordset(current_setting('tierwise.steps')::jsonb)
            AS steps (number int, schema text, name text, kind text, source text, target text)
    LOOP
        SELECT c.oid, c.relkind, c.relowner, c.relpersistence, p.spcname AS place, t.oid AS target, d.dattablespace AS home,
               coalesce(i.indrelid, c.oid) AS owner
        INTO seen
        FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_database AS d ON d.datname = current_database()
        LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
        JOIN pg_tablespace AS p ON p.oid = coalesce(nullif(c.reltablespace, 0), d.dattablespace)
        LEFT JOIN pg_tablespace AS t ON t.spcname = step.target
        WHERE n.nspname = step.schema AND c.relname = step.name;
        IF NOT FOUND OR seen.relkind <> step.kind THEN
            RAISE EXCEPTION 'step %: %.% is not there, or is something else now', step.number, step.schema, step.name
                USING HINT = 'Watch the server again. For a masked watch, make the plan with --key.';
        ELSIF seen.oid < 16384 OR step.schema IN ('pg_catalog', 'information_schema', 'pg_toast') THEN
            RAISE EXCEPTION 'step %: %.% belongs to the catalogs, which never move', step.number, step.schema, step.name;
        ELSIF step.schema LIKE '\_timescaledb%' THEN
            RAISE EXCEPTION 'step %: %.% belongs to TimescaleDB', step.number, step.schema, step.name USING HINT = 'Use its move_chunk().';
        ELSIF seen.relpersistence = 't' THEN
            RAISE EXCEPTION 'step %: %.% is temporary', step.number, step.schema, step.name;
        ELSIF NOT pg_has_role(seen.relowner, 'USAGE') THEN
            RAISE EXCEPTION 'step %: % does not own %.%', step.number, current_user, step.schema, step.name
                USING HINT = format('Run the plan as a superuser, or: GRANT %I TO %I', pg_get_userbyid(seen.relowner), current_user);
        ELSIF seen.target IS NULL THEN
            RAISE EXCEPTION 'step %: there is no tablespace %', step.number, step.target USING HINT = 'CREATE TABLESPACE needs a superuser.';
        ELSIF seen.target <> seen.home AND NOT has_tablespace_privilege(seen.target, 'CREATE') THEN
            RAISE EXCEPTION 'step %: % may not create in the tablespace %', step.number, current_user, step.target
                USING HINT = format('GRANT CREATE ON TABLESPACE %I TO %I', step.target, current_user);
        ELSIF seen.place NOT IN (step.source, step.target) THEN
            RAISE EXCEPTION 'step %: %.% lies in % since the watch', step.number, step.schema, step.name, seen.place
                USING HINT = 'Watch the server again.';
        ELSIF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = seen.owner AND tgname = 'repack_trigger') THEN
            RAISE EXCEPTION 'step %: pg_repack is at work on %.%, or was broken off', step.number, step.schema, step.name
                USING HINT = 'Wait until it has ended, or remove what it left, as its manual describes.';
        END IF;
    END LOOP;
END
$conditions$;

PREPARE facts (regclass, name) AS
SELECT c.oid::regclass AS relation, coalesce(nullif(c.reltablespace, 0), d.dattablespace) = t.oid AS there,
       pg_size_pretty(pg_table_size(c.oid)) AS size, coalesce(i.indisexclusion, false) AS exclusion
FROM pg_class AS c
JOIN pg_database AS d ON d.datname = current_database()
JOIN pg_tablespace AS t ON t.spcname = $2
LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
WHERE c.oid = $1;
{% for step in steps %}

-- Step {{ step.number }} of {{ steps | length }}
SELECT :step IN (0, {{ step.number }}) AS run \gset
\if :run
EXECUTE facts({{ literal(step.qualified) }}, {{ literal(step.target) }}) \gset
\if :there
\echo step {{ step.number }}: :relation is there already
\else
\set before :size
SELECT clock_timestamp() AS began \gset
{% if step.kind == "index" %}
\if :exclusion
ALTER INDEX {{ step.qualified }} SET TABLESPACE {{ identifier(step.target) }};
\else
SET lock_timeout = 0;
-- A concurrent rebuild waits for every older transaction, and holds back vacuum meanwhile: wait for them first, with a limit.
DO $wait$
DECLARE
    began timestamptz := clock_timestamp();
BEGIN
    WHILE EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < began
                  AND backend_type = 'client backend')
          OR EXISTS (SELECT FROM pg_prepared_xacts WHERE database = current_database() AND prepared < began) LOOP
        IF clock_timestamp() > began + current_setting('tierwise.old_s')::float8 * interval '1 second' THEN
            RAISE EXCEPTION 'a transaction is open for more than % s', current_setting('tierwise.old_s')
                USING HINT = 'See pg_stat_activity.xact_start and pg_prepared_xacts; a longer wait: OLD_S=3600 sh plan.sh';
        END IF;
        PERFORM pg_sleep(0.2);
        PERFORM pg_stat_clear_snapshot();
    END LOOP;
END
$wait$;
RESET search_path; -- functions of the index may need yours
SET temp_tablespaces = {{ identifier(step.target) }}; -- the sort writes and reads all entries in files
REINDEX (TABLESPACE {{ identifier(step.target) }}, CONCURRENTLY) INDEX {{ step.qualified }};
SET search_path = pg_catalog;
RESET temp_tablespaces;
SELECT set_config('lock_timeout', :'lock_s' || 's', false) AS ignored \gset
\endif
{% else %}
ALTER {{ step.sql_kind }} {{ step.qualified }} SET TABLESPACE {{ identifier(step.target) }};
{% endif %}
SELECT round(extract(epoch FROM clock_timestamp() - :'began')::numeric, 1) AS seconds \gset
EXECUTE facts({{ literal(step.qualified) }}, {{ literal(step.target) }}) \gset
\if :there
\echo step {{ step.number }}: :relation moved in :seconds s, :before before, :size now
\else
DO $failed$ BEGIN RAISE EXCEPTION 'step {{ step.number }} did not move its relation'; END $failed$;
\endif
\endif
\endif
{% endfor %}
{% for step in steps if step.newest %}

-- New partitions follow the newest one
SELECT :step IN (0, -2) AS run \gset
\if :run
SELECT format('ALTER %s %s SET TABLESPACE %I', CASE p.relkind WHEN 'I' THEN 'INDEX' ELSE 'TABLE' END, p.oid::regclass, t.spcname)
FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent JOIN pg_tablespace AS t ON t.spcname = {{ literal(step.target) }}
JOIN pg_database AS d ON d.datname = current_database()
WHERE i.inhrelid = {{ literal(step.qualified) }}::regclass AND coalesce(nullif(p.reltablespace, 0), d.dattablespace) <> t.oid
  AND p.relkind IN ('p', 'I')
\gexec
\endif
{% endfor %}
