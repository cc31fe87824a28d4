-- Queries on the views of a run; in braces is what Python puts in.

-- name: series
select pair, {chosen} io_mode, replicate, evidence, {flagged}, ({value})::double, {note}, {outstanding}::double, {hangs_on}::text
from {study}
where ({value}) is not null or flagged
order by io_mode, replicate

-- name: rejections
select evidence, count(*), count(*) filter (len(flags) > 0)
from timings where (? in ('', study)) and (? in ('', pair))
group by evidence order by evidence = 'simulated', evidence

-- name: never_accepted
with measurements as (
    select study, bool_and(len(flags) > 0) as rejected
    from timings
    where evidence <> 'simulated' and (clock <> 'real' or evidence = 'measured')
    group by study, pair, trial, step
)
select study, count(*) from measurements where rejected group by study order by study

-- name: deviations
with cells as (
    select study, pair, io_mode, trial, step, replicate, ln(elapsed_s) as log_s
    from timings where len(flags) = 0 and elapsed_s > 0 and evidence <> 'simulated'
), apart as (
    select study, replicate, log_s - avg(log_s) over (partition by study, pair, io_mode, trial, step) as deviation,
        count(*) over (partition by study, pair, io_mode, trial, step) as replicates
    from cells
)
select study, replicate, avg(deviation) as deviation from apart where replicates > 1 group by all
