-- name: relation
SELECT c.oid, c.relname, c.relkind, t.spcname
FROM pg_class AS c, pg_database AS d, pg_tablespace AS t
WHERE c.oid = to_regclass(%s) AND d.datname = current_database()
  AND t.oid = CASE c.reltablespace WHEN 0 THEN d.dattablespace ELSE c.reltablespace END

-- name: files
WITH named AS (SELECT oid, reltoastrelid FROM pg_class WHERE oid = ANY(%s::oid[])),
     whole AS (SELECT oid FROM named
               UNION SELECT reltoastrelid FROM named WHERE reltoastrelid <> 0
               UNION SELECT i.indexrelid FROM pg_index AS i JOIN named ON i.indrelid = named.reltoastrelid)
SELECT current_setting('data_directory'), pg_relation_filepath(oid) FROM whole

-- name: main_files
SELECT name, current_setting('data_directory'), pg_relation_filepath(oid) FROM unnest(%s::text[], %s::oid[]) AS named (name, oid)

-- name: sizes
SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE oid >= %s AND relkind IN ('r', 'i')

-- name: statistics
SELECT sum(length(s::text)) FROM pg_statistic AS s
WHERE starelid = ANY(ARRAY(SELECT oid FROM pg_class WHERE oid >= %s AND relkind IN ('r', 'i')))

-- name: correlation
SELECT correlation FROM pg_stats AS s, pg_class AS c
WHERE c.oid = %s AND s.schemaname = c.relnamespace::regnamespace::text AND s.tablename = c.relname AND s.attname = %s

-- name: first_row_behind
SELECT format('(%%s,0)', pg_relation_size(%s::regclass) / current_setting('block_size')::bigint)

-- name: indexes
SELECT relname, conname
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
LEFT JOIN pg_constraint AS k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid
WHERE i.indrelid = %s

-- name: blocks
SELECT oid, pg_stat_get_blocks_fetched(oid), pg_stat_get_blocks_hit(oid) FROM unnest(%s::oid[]) AS oid

-- name: io_s
SELECT (pg_stat_get_db_blk_read_time(oid) + pg_stat_get_db_blk_write_time(oid)) / 1000 FROM (SELECT %s::oid) AS d (oid)

-- name: reads
SELECT coalesce(sum(reads), 0)::bigint, coalesce(sum(read_time), 0)::float8 / 1000 FROM pg_stat_io WHERE object = 'relation'

-- name: reads_of_pages
-- For a server before version 16, which counts only pages; a read is then one page.
SELECT sum(blks_read)::bigint, sum(blk_read_time)::float8 / 1000 FROM pg_stat_database

-- name: file_nodes
SELECT d.oid, pg_relation_filenode(c.oid)::text, c.relname
FROM pg_class AS c, pg_database AS d
WHERE d.datname = current_database() AND pg_relation_filenode(c.oid) IS NOT NULL
