-- The survey's first question: what do arrays of disks and of SSDs do to three queries on a catalog of the sky?
-- Reads the view `timings`. Every row is a query from empty caches, with the whole database on one subsystem (`tier`).

-- One row an observation: its time, and that of everything on the array of disks (`hdd`) in the same replicate over it (`gain`).
-- `form` is printed (as the source has it) or meant; what is meant as it is printed was measured once. The words of a claim's selection are
-- text. `evidence` and `flagged` speak of both observations behind the gain. `outstanding` is the mean number of requests that the device
-- had at once, of the tier that had most.
create temp view survey_arrays as
with
observed as (
    select
        run_id,
        pair,
        io_mode,
        cell ->> 'query' as query,
        cell ->> 'form' as form,
        cell ->> 'tier' as tier,
        replicate,
        evidence,
        elapsed_s,
        result_rows,
        list_sum([io.reads for io in relation_io if io.relation_class = 'table'])::bigint as heap_reads,
        list_sum([io.reads for io in relation_io if io.relation_class = 'index'])::bigint as index_reads,
        list_sum([io.reads for io in tier_io])::bigint as requests,
        list_sum([io.read_bytes for io in tier_io])::bigint as read_bytes,
        list_sum([io.intended_s for io in tier_io]) as device_s,
        list_max(map_values((proof -> 'outstanding')::map(varchar, double))) as outstanding,
        flags,
        trial,
        sequence
    from timings
    where study = 'survey_arrays'
)
select
    one.* exclude (evidence, flags),
    if(len(one.flags) > 0, array_to_string(one.flags, ', '), 'none') as flags,
    base.elapsed_s / one.elapsed_s as gain,
    if(one.evidence = coalesce(base.evidence, one.evidence), one.evidence, 'mixed') as evidence,
    len(one.flags) > 0 or coalesce(len(base.flags) > 0, false) as flagged
from observed as one
left join observed as base
    on base.tier = 'hdd'
    and (base.run_id, base.pair, base.io_mode, base.query, base.form, base.replicate)
      = (one.run_id, one.pair, one.io_mode, one.query, one.form, one.replicate);

-- What two runs are compared by: one row an observation.
create temp view survey_arrays_cells as
select
    run_id, pair, io_mode,
    format('{}, {}, on {}', query, form, tier) as cell,
    's' as unit,
    replicate, evidence, elapsed_s as value, flagged
from survey_arrays;
