-- The census study's question: what does the place of the index, and of the table, do to a count by pob?
-- Reads the view `timings`. The first two are tables, because every claim and I/O mode asks them again.

-- One row an observation: its time beside the pages requested from the storage (reads) or found in shared
-- buffers (hits), of the heap `census`, of the index `pob` (and of that on `age` where a count uses both), and (other) of the primary
-- key, of which planning reads one page.
-- `io_s` is the time of a relation's requests to the storage, null where it is not known; `io_basis` says from where, or why not.
-- `variant` names what differs from the published protocol.
-- `outstanding` is the mean number of requests that the device had at once, of the tier that had most.
-- `state` is the state queried; in the cross test the pair of states (FL->PR: PR after FL was cold and hot).
create temp table index_placement_observations as
select
    run_id,
    pair,
    io_mode,
    cell ->> 'variant' as variant,
    cache,
    if(cache = 'cross', (cell ->> 'start') || '->' || (cell ->> 'state'), cell ->> 'state') as state,
    replicate,
    cell ->> 'table' as table_tier,
    cell ->> 'index' as index_tier,
    evidence,
    elapsed_s,
    result_rows,
    [io for io in relation_io if io.relation = 'census'] as heap_io,
    [io for io in relation_io if io.relation in ('pob', 'age')] as index_io,
    [io for io in relation_io if io.relation not in ('census', 'pob', 'age')] as other_io,
    coalesce(list_sum([io.reads for io in heap_io]), 0)::bigint as heap_reads,
    coalesce(list_sum([io.hits for io in heap_io]), 0)::bigint as heap_hits,
    coalesce(list_sum([io.reads for io in index_io]), 0)::bigint as index_reads,
    coalesce(list_sum([io.hits for io in index_io]), 0)::bigint as index_hits,
    coalesce(list_sum([io.reads for io in other_io]), 0)::bigint as other_reads,
    list_sum([io.io_s for io in heap_io]) as heap_io_s,
    list_sum([io.io_s for io in index_io]) as index_io_s,
    list_sum([io.io_s for io in other_io]) as other_io_s,
    list_distinct([io.io_basis for io in relation_io]) as io_basis,
    list_max(map_values((proof -> 'outstanding')::map(varchar, double))) as outstanding,
    trial,
    step,
    sequence,
    flags
from timings
where study = 'index_placement';

-- The same rows by the I/O modes that are compared, which adds `asymmetric`: measured nowhere by itself, but what comes out when
-- the eviction works for the index on hdd alone. Its index on ssd is the one of `heap-cached`, its index on hdd the truly
-- cold one with the same memory (`memory-1.2`, where that was not measured the published one).
create temp table index_placement_io_modes as
with
kept as (
    from index_placement_observations
    where variant = 'heap-cached' and table_tier = 'hdd' and index_tier = 'ssd'
),
evicted as (
    from index_placement_observations
    where variant in ('memory-1.2', 'published') and table_tier = 'hdd' and index_tier = 'hdd'
),
same_memory as (
    from evicted
    semi join kept using (run_id, pair, io_mode, cache, state, replicate)
    qualify variant = min(variant) over (partition by run_id, pair, io_mode, cache, state)
)
from index_placement_observations
union all by name
select * replace ('asymmetric' as variant) from kept
union all by name
select * replace ('asymmetric' as variant) from same_memory;

-- One row for each pair of tiers, way of I/O, variant, cache, state and replicate: the times of the four placements (table, then index),
-- and the claims' ratio: index on ssd over index on hdd, the table on hdd both times, within one replicate.
-- `over_least` is the ratio over the least of the states in the replicate, and `pages_ratio` the same as `ratio` for the pages requested,
-- whether they were found in memory or read.
-- `evidence`, `flagged`, `note` (why they are flagged) and `outstanding` (a mean) speak of the two observations behind the ratio.
create temp view index_placement as
select
    *,
    ratio / min(ratio) over (partition by run_id, pair, io_mode, variant, cache, replicate) as over_least
from (
    select
        run_id,
        pair,
        io_mode,
        variant,
        cache,
        state,
        replicate,
        max(elapsed_s) filter (table_tier = 'hdd' and index_tier = 'hdd') as hdd_hdd_s,
        max(elapsed_s) filter (table_tier = 'hdd' and index_tier = 'ssd') as hdd_ssd_s,
        max(elapsed_s) filter (table_tier = 'ssd' and index_tier = 'hdd') as ssd_hdd_s,
        max(elapsed_s) filter (table_tier = 'ssd' and index_tier = 'ssd') as ssd_ssd_s,
        case
            when count(*) > 4 then error('index_placement: a placement was timed twice in one replicate')
            else hdd_ssd_s / hdd_hdd_s
        end as ratio,
        max(heap_hits + heap_reads + index_hits + index_reads) filter (table_tier = 'hdd' and index_tier = 'ssd')
            / max(heap_hits + heap_reads + index_hits + index_reads) filter (table_tier = 'hdd' and index_tier = 'hdd') as pages_ratio,
        if(
            count(distinct evidence) filter (table_tier = 'hdd') = 1,
            min(evidence) filter (table_tier = 'hdd'),
            'mixed'
        ) as evidence,
        coalesce(bool_or(len(flags) > 0) filter (table_tier = 'hdd'), false) as flagged,
        replace(
            array_to_string(list_sort(list_distinct(flatten(list(flags) filter (table_tier = 'hdd')))), ', '),
            'host',
            'the scatter of the processors'
        ) as note,
        avg(outstanding) filter (table_tier = 'hdd') as outstanding
    from index_placement_io_modes
    group by run_id, pair, io_mode, variant, cache, state, replicate
);

-- The same for each move: one row for each placement but everything on hdd, with its time over that of everything on hdd (`ratio`) and the
-- inverse (`speedup`), both of one replicate; only of rows that are not flagged.
create temp view index_placement_gains as
select
    pair,
    io_mode,
    variant,
    cache,
    state as row,
    replicate + 1 as replicate,
    placement,
    1000 * time_s as time_ms,
    time_s / hdd_hdd_s as ratio,
    hdd_hdd_s / time_s as speedup
from (
    unpivot (select * from index_placement where not flagged)
    on hdd_ssd_s as 'index on SSD', ssd_hdd_s as 'table on SSD', ssd_ssd_s as 'both on SSD'
    into name placement value time_s
)
where ratio is not null;

-- Through which reads: one row for each pair of tiers, way of I/O, variant, cache, state and placement with the table on hdd, as
-- medians over the replicates. A flag speaks of a time and leaves the counts as they are; times are of unflagged rows, where enough are left.
create temp view index_placement_through as
select
    run_id,
    pair,
    io_mode,
    variant,
    cache,
    state,
    table_tier || '/' || index_tier as placement,
    median(heap_reads) as heap_reads,
    median(index_reads) as index_reads,
    median(other_reads) as other_reads,
    if(enough(if(len(flags) = 0, heap_io_s, null)), median(heap_io_s) filter (len(flags) = 0), null) as heap_io_s,
    if(enough(if(len(flags) = 0, index_io_s, null)), median(index_io_s) filter (len(flags) = 0), null) as index_io_s,
    if(enough(if(len(flags) = 0, other_io_s, null)), median(other_io_s) filter (len(flags) = 0), null) as other_io_s,
    if(enough(if(len(flags) = 0, elapsed_s, null)), list_sort(list_distinct(flatten(list(io_basis)))), ['too few clean rows']) as io_basis,
    if(enough(if(len(flags) = 0, elapsed_s, null)), median(elapsed_s) filter (len(flags) = 0), null) as elapsed_s,
    any_value(trial) as trial,
    any_value(step) as step
from index_placement_io_modes
where table_tier = 'hdd'
group by run_id, pair, io_mode, variant, cache, state, table_tier, index_tier;

-- What two runs are compared by: one row an observation, its value by cell of the grid.
create temp view index_placement_cells as
select
    run_id,
    pair,
    io_mode,
    format('{}: {}, {}, table on {}, index on {}', variant, cache, replace(state, '->', ' then '), table_tier, index_tier) as cell,
    's' as unit,
    replicate,
    evidence,
    elapsed_s as value,
    len(flags) > 0 as flagged
from index_placement_observations;
