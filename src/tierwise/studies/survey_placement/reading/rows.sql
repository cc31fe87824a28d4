-- The survey's second question: which files of a survey's database gain most on SSDs?
-- Reads the view `timings`. Every row is a query from empty caches on one placement.

-- One row a replicate, the mean of all executions of a query there: its time, and over that of everything on the disks in the same replicate
-- (`ratio`). Pages and the storage's time by what a placement moves. `evidence` and `flagged` speak of all observations behind the ratio;
-- `outstanding` is the mean number of requests that the device had at once, of the tier that had most.
create temp view survey_placement as
with
observed as (
    select
        run_id,
        pair,
        io_mode,
        cell ->> 'query' as query,
        cell ->> 'placement' as placement,
        replicate,
        if(min(evidence) = max(evidence), min(evidence), 'mixed') as evidence,
        avg(elapsed_s) as elapsed_s,
        max(result_rows) as result_rows,
        max(list_sum([io.reads for io in relation_io if io.relation_class = 'index']))::bigint as index_reads,
        max(list_sum([io.reads for io in relation_io if io.relation = 'source']))::bigint as source_reads,
        max(list_sum([io.reads for io in relation_io if io.relation = 'detection']))::bigint as detection_reads,
        max(list_sum([io.reads for io in relation_io]))::bigint as all_reads,
        avg(list_sum([io.io_s for io in relation_io if io.relation_class = 'index'])) as index_io_s,
        avg(list_sum([io.io_s for io in relation_io if io.relation = 'source'])) as source_io_s,
        avg(list_sum([io.io_s for io in relation_io if io.relation = 'detection'])) as detection_io_s,
        avg(list_sum([io.io_s for io in relation_io])) as all_io_s,
        avg(list_max(map_values((proof -> 'outstanding')::map(varchar, double)))) as outstanding,
        list_sort(list_distinct(flatten(list(flags)))) as flags,
        min(trial) as trial,
        min(sequence) as sequence
    from timings
    where study = 'survey_placement' and cell ->> 'query' <> 'move'
    group by run_id, pair, io_mode, query, placement, replicate
)
select
    one.* exclude (evidence, flags),
    if(len(one.flags) > 0, array_to_string(one.flags, ', '), 'none') as flags,
    one.elapsed_s / base.elapsed_s as ratio,
    if(one.evidence = coalesce(base.evidence, one.evidence), one.evidence, 'mixed') as evidence,
    len(one.flags) > 0 or coalesce(len(base.flags) > 0, false) as flagged
from observed as one
left join observed as base
    on base.placement = 'all_hdd'
    and (base.run_id, base.pair, base.io_mode, base.query, base.replicate) = (one.run_id, one.pair, one.io_mode, one.query, one.replicate);

-- One row a replicate of what each placement has on the SSDs: copied there from the disks (`there_s`), then back, and the devices' part of both.
create temp view survey_moves as
select
    run_id, pair, io_mode,
    cell ->> 'placement' as placement,
    cell ->> 'ssd' as ssd,
    replicate,
    if(min(evidence) = max(evidence), min(evidence), 'mixed') as evidence,
    sum(elapsed_s) filter (cell ->> 'way' = 'there') as there_s,
    sum(elapsed_s) filter (cell ->> 'way' = 'back') as back_s,
    sum(list_sum([io.intended_s for io in tier_io])) as device_s,
    bool_or(len(flags) > 0) as flagged
from timings
where study = 'survey_placement' and cell ->> 'query' = 'move'
group by all;

-- What two runs are compared by: one row a replicate.
create temp view survey_placement_cells as
select
    run_id, pair, io_mode,
    format('{}: {}', query, placement) as cell,
    's' as unit,
    replicate, evidence, elapsed_s as value, flagged
from survey_placement;
