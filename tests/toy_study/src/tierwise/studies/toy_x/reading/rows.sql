-- Source X: what does a search by declination gain where the catalog lies on flash?
-- Reads the view `timings`. Every row is a search from empty caches.

-- One row an observation: its time, and over that on the disks in the same replicate (`ratio`).
create temp view toy_x as
with
observed as (
    select run_id, pair, io_mode, cell ->> 'tier' as tier, replicate, evidence, elapsed_s, result_rows, flags
    from timings
    where study = 'toy_x'
)
select
    one.* exclude (flags),
    one.elapsed_s / base.elapsed_s as ratio,
    len(one.flags) > 0 or len(base.flags) > 0 as flagged
from observed as one
join observed as base
    on base.tier = 'hdd' and (base.run_id, base.pair, base.io_mode, base.replicate) = (one.run_id, one.pair, one.io_mode, one.replicate);

-- What two runs are compared by: one row an observation.
create temp view toy_x_cells as
select run_id, pair, io_mode, format('search on {}', tier) as cell, 's' as unit, replicate, evidence, elapsed_s as value, flagged
from toy_x;
