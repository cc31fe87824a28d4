-- The pgbench study's question: how many transactions a second does each placement of pgbench's tables and indexes give?
-- Reads the view `timings`. A raw row is one phase of a window (before, checkpoint, after); the transactions themselves lie beside it.

-- Pages that the misses of a relation (`io`, of `relation_io`) read: past the page cache those of its requests in the log of a tier that counts
-- them, since a busy session sends the server's statistics once a second of real time, often after the window; else those that were recorded.
create temp macro pages_read(io_mode, tier_io, files, io) as if(
    io_mode <> 'buffered' and files is not null and list_contains([one.tier for one in tier_io if one.reads is not null], io.tier),
    coalesce((files -> io.relation ->> 'read_bytes')::bigint, 0) // 8192,
    io.reads
);

-- What differs from the published protocol, in which a transaction waits for its log; with statements that are prepared, or in a run before these
-- were, with none that is.
create temp macro load_variant(cell) as case
    when cell ->> 'synchronous_commit' = 'off' then 'async-commit'
    when cell ->> 'protocol' = 'simple' then 'simple-protocol'
    else 'published'
end;

-- One row a phase.
create temp view pgbench_placement_phases as
with
read as (
    select * replace ([struct_insert(io, pages_read := pages_read(io_mode, tier_io, files, io)) for io in relation_io] as relation_io)
    from (select *, proof -> 'files' as files from timings where study = 'pgbench_placement')
)
select
    run_id,
    pair,
    io_mode,
    cell ->> 'size' as size,
    load_variant(cell) as variant,
    case
        when cell ->> 'hot' <> cell ->> 'table' then 'hot_ssd'
        when cell ->> 'table' = 'hdd' then if(cell ->> 'index' = 'hdd', 'all_hdd', 'index_ssd')
        else if(cell ->> 'index' = 'hdd', 'table_ssd', 'all_ssd')
    end as placement,
    cell ->> 'clients' as clients,
    case when cell ->> 'script' = 'mix'
        then format('{:.0f} % writes, skew {}, {}', 100 * (cell ->> 'writes')::double, cell ->> 'skew', cell ->> 'layout')
        else cell ->> 'script'
    end
    || coalesce(', ' || (cell ->> 'partitions') || ' partitions', '')
    || coalesce(', on ' || (cell ->> 'processors') || if(cell ->> 'processors' = '1', ' processor', ' processors'), '') as script,
    coalesce((cell ->> 'partitions')::int, 0) as partitions,
    coalesce((cell ->> 'writes')::double, if(cell ->> 'script' = 'select-only', 0, 1)) as writes,
    coalesce((cell ->> 'skew')::double, 0) as skew,
    coalesce(cell ->> 'layout', 'strewn') as layout,
    (cell ->> 'slowdown')::double as slowdown,
    (cell ->> 'memory')::double as memory,
    replicate,
    cell ->> 'phase' as phase,
    step,
    evidence,
    started_at,
    elapsed_s,
    device_s,
    result_rows as transactions,
    relation_io,
    list_sum([io.pages_read for io in relation_io if io.relation_class = 'index']) as index_reads,
    list_sum([io.pages_read for io in relation_io if io.relation_class = 'table']) as table_reads,
    list_sum([io.hits for io in relation_io if io.relation_class = 'index']) as index_hits,
    (proof ->> 'window_cpu_share')::double as cpu_share,
    (proof ->> 'hangs_on_the_log')::boolean as hangs_on_the_log,
    files,
    proof -> 'server' as server,
    flags,
    trial,
    sequence
from read;

-- One row a window.
create temp view pgbench_placement_windows as
select
    run_id, pair, io_mode, size, variant, placement, clients, script, partitions, writes, skew, layout, slowdown, memory, replicate, trial,
    any_value(evidence) as evidence,
    sum(transactions)::bigint as transactions,
    sum(elapsed_s) as elapsed_s,
    sum(transactions) / sum(elapsed_s) as tps,
    sum(transactions) / sum(device_s / slowdown + elapsed_s - device_s) as tps_with_processors,
    sum(transactions) filter (phase <> 'checkpoint') / sum(elapsed_s) filter (phase <> 'checkpoint') as no_checkpoint_tps,
    coalesce(sum(index_reads), 0) as index_reads,
    coalesce(sum(table_reads), 0) as table_reads,
    coalesce(sum(index_hits), 0) as index_hits,
    sum(elapsed_s) filter (phase = 'checkpoint') as checkpoint_s,
    any_value(cpu_share) as cpu_share,
    coalesce(bool_or(hangs_on_the_log), false) as hangs_on_the_log,
    list_sort(list_distinct(flatten(list(flags)))) as flags
from pgbench_placement_phases
group by all;

-- Transactions a second of each window, over those of everything on hdd in the same replicate. The words of a claim's selection are text.
-- `judged` is yes for the one slowdown of a size that claims on ratios are judged at: the least at which no window was flagged, or
-- where there is none, the largest. `evidence` and `flagged` speak of both windows behind the ratio, `note` of why a window is
-- flagged, or of what its value was found under. `no_checkpoint_tps` and `no_checkpoint_ratio` leave the checkpoint's phase out.
-- The variant `with-processors` has the drives at their own speed, and the processors' time behind the drives': where the drives were slowed,
-- the published variant is the other end, as if processors were faster by the same factor.
create temp view pgbench_placement as
with
calm as (
    select run_id, pair, io_mode, size, variant, clients, script, memory, slowdown, bool_and(len(flags) = 0) as calm
    from pgbench_placement_windows
    group by all
),
chosen as (
    select
        run_id, pair, io_mode, size, variant, clients, script, memory,
        coalesce(min(slowdown) filter (calm), max(slowdown)) as slowdown
    from calm
    group by all
),
held as (
    select
        one.run_id,
        one.pair,
        one.io_mode,
        one.trial,
        one.size,
        one.variant,
        one.placement,
        one.clients,
        one.script,
        one.writes,
        one.skew,
        one.layout,
        one.partitions,
        one.slowdown,
        format('{:g}', one.slowdown) as factor,
        format('{:g}', one.memory) as memory,
        if(one.slowdown = chosen.slowdown, 'yes', 'no') as judged,
        one.replicate,
        one.tps,
        one.tps / base.tps as ratio,
        one.tps_with_processors,
        one.tps_with_processors / base.tps_with_processors as ratio_with_processors,
        one.no_checkpoint_tps,
        one.no_checkpoint_tps / base.no_checkpoint_tps as no_checkpoint_ratio,
        one.index_reads,
        one.table_reads,
        one.index_hits,
        one.transactions,
        one.cpu_share,
        -- A verdict needs the same one from these variants: where sessions wait for their log for more than a tenth of the time, and where the
        -- drives were slowed.
        concat_ws(
            ',',
            if(one.hangs_on_the_log or coalesce(base.hangs_on_the_log, false), 'async-commit', null),
            if(one.slowdown <> 1 and one.variant = 'published' and one.tps_with_processors is not null, 'with-processors', null)
        ) as hangs_on,
        one.checkpoint_s,
        if(one.evidence = coalesce(base.evidence, one.evidence), one.evidence, 'mixed') as evidence,
        len(one.flags) > 0 or coalesce(len(base.flags) > 0, false) as flagged,
        case
            when list_contains(one.flags || coalesce(base.flags, []), 'cpu') then 'CPU'
            when list_contains(one.flags || coalesce(base.flags, []), 'row-locks') then 'row locks'
            when list_contains(one.flags || coalesce(base.flags, []), 'kernel-locks') then 'locks of the kernel'
            when list_contains(one.flags || coalesce(base.flags, []), 'jumped') then 'jumps of the clock'
            when len(one.flags || coalesce(base.flags, [])) > 0 then 'overshoot'
            when one.slowdown <> 1 then format('tiers slowed {:g}-fold', one.slowdown)
            else ''
        end as note
    from pgbench_placement_windows as one
    join chosen using (run_id, pair, io_mode, size, variant, clients, script, memory)
    left join pgbench_placement_windows as base
        on base.placement = 'all_hdd'
        and (base.run_id, base.pair, base.io_mode, base.size, base.variant, base.clients, base.script, base.slowdown, base.memory, base.replicate)
          = (one.run_id, one.pair, one.io_mode, one.size, one.variant, one.clients, one.script, one.slowdown, one.memory, one.replicate)
)
select * exclude (tps_with_processors, ratio_with_processors) from held
union all by name
select
    * exclude (tps_with_processors, ratio_with_processors)
    replace ('with-processors' as variant, tps_with_processors as tps, ratio_with_processors as ratio, '' as hangs_on)
from held
where variant = 'published' and slowdown <> 1 and tps_with_processors is not null;

-- One row for each relation, `wal` and `other` in each phase: pages that the server requested and found (shared buffers), and the requests
-- that reached the emulated tiers, of which `sequential_reads` began where the one before ended.
create temp view pgbench_placement_relations as
with
requested as (
    select * exclude (relation_io, files, server, flags), unnest(relation_io, recursive := true)
    from pgbench_placement_phases
),
reached as (
    select
        run_id, pair, trial, replicate, step,
        unnest(json_keys(files)) as relation,
        files
    from pgbench_placement_phases
)
select
    coalesce(requested.run_id, reached.run_id) as run_id,
    coalesce(requested.pair, reached.pair) as pair,
    coalesce(requested.trial, reached.trial) as trial,
    coalesce(requested.replicate, reached.replicate) as replicate,
    coalesce(requested.step, reached.step) as step,
    coalesce(requested.relation, reached.relation) as relation,
    requested.relation_class,
    requested.hits,
    requested.reads,
    requested.pages_read,
    reached.files -> coalesce(requested.relation, reached.relation) ->> 'tier' as tier,
    (reached.files -> coalesce(requested.relation, reached.relation) ->> 'reads')::bigint as requests_read,
    (reached.files -> coalesce(requested.relation, reached.relation) ->> 'sequential_reads')::bigint as sequential_reads,
    (reached.files -> coalesce(requested.relation, reached.relation) ->> 'writes')::bigint as requests_written,
    (reached.files -> coalesce(requested.relation, reached.relation) ->> 'read_bytes')::bigint as read_bytes,
    (reached.files -> coalesce(requested.relation, reached.relation) ->> 'write_bytes')::bigint as write_bytes,
    (reached.files -> coalesce(requested.relation, reached.relation) ->> 'intended_s')::double as io_s
from requested
full join reached
    on (requested.run_id, requested.pair, requested.trial, requested.replicate, requested.step, requested.relation)
     = (reached.run_id, reached.pair, reached.trial, reached.replicate, reached.step, reached.relation);

-- What two runs are compared by: one row a window, its value by cell of the grid.
create temp view pgbench_placement_cells as
select
    run_id, pair, io_mode,
    format('{}, {} clients, {}, memory {:g}, slowed {:g}-fold: {}', size, clients, script, memory, slowdown, placement)
        || if(variant = 'published', '', ', ' || variant) as cell,
    'transactions/s' as unit,
    replicate, evidence, tps as value, len(flags) > 0 as flagged
from pgbench_placement_windows;
