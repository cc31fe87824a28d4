-- Source M's question: what does the place of the index, and of the table, do to a count by pob?
-- Reads the view `timings`.

-- One row an observation: its time beside the blocks asked of the storage (reads) or found in shared
-- buffers (hits), of the heap `census` and of the index `pob`; the primary key's one page is left out.
-- `state` is the state queried; in the cross test the pair of states (FL->PR: PR after FL was cold and hot).
create temp view index_placement_observations as
select
    run_id,
    pair,
    arm,
    cache,
    if(cache = 'cross', (cell ->> 'start') || '->' || (cell ->> 'state'), cell ->> 'state') as state,
    block,
    cell ->> 'table' as table_tier,
    cell ->> 'index' as index_tier,
    substrate,
    elapsed_s,
    result_rows,
    coalesce(list_sum([io.reads for io in relation_io if io.relation = 'census']), 0)::bigint as heap_reads,
    coalesce(list_sum([io.hits for io in relation_io if io.relation = 'census']), 0)::bigint as heap_hits,
    coalesce(list_sum([io.reads for io in relation_io if io.relation = 'pob']), 0)::bigint as index_reads,
    coalesce(list_sum([io.hits for io in relation_io if io.relation = 'pob']), 0)::bigint as index_hits,
    sequence,
    flags
from timings
where study = 'index_placement';

-- One row for each pair of tiers, arm, cache, state and block: the times of the four placements (table, then index),
-- and the claims' ratio: index on ssd over index on hdd, the table on hdd both times, within one block.
-- `substrate` and `flagged` speak of the two observations behind the ratio.
create temp view index_placement as
select
    run_id,
    pair,
    arm,
    cache,
    state,
    block,
    max(elapsed_s) filter (table_tier = 'hdd' and index_tier = 'hdd') as hdd_hdd_s,
    max(elapsed_s) filter (table_tier = 'hdd' and index_tier = 'ssd') as hdd_ssd_s,
    max(elapsed_s) filter (table_tier = 'ssd' and index_tier = 'hdd') as ssd_hdd_s,
    max(elapsed_s) filter (table_tier = 'ssd' and index_tier = 'ssd') as ssd_ssd_s,
    case
        when count(*) > 4 then error('index_placement: a placement was timed twice in one block')
        else hdd_ssd_s / hdd_hdd_s
    end as ratio,
    if(
        count(distinct substrate) filter (table_tier = 'hdd') = 1,
        min(substrate) filter (table_tier = 'hdd'),
        'mixed'
    ) as substrate,
    coalesce(bool_or(len(flags) > 0) filter (table_tier = 'hdd'), false) as flagged
from index_placement_observations
group by run_id, pair, arm, cache, state, block;
