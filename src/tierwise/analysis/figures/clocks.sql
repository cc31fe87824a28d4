-- The cells that were counted and, in the first block, also waited for: one row for each observation of a waited cell that has a counted
-- twin with enough clean blocks, the twin's figures as medians over these. `requests_s` is what the models asked for in the waited one and `device_s` what its
-- requests took; the counted one's devices took `counted_device_s`. A window of several sessions has transactions in place of devices' times.
-- Reads the views `raw_timings` and `waited_checks`; its parameter is how the name of a pair begins.
with twins as (
    select
        run_id, study, pair, trial, step,
        any_value(clock) as clock,
        median(elapsed_s) as counted_s,
        median(cpu_s) as counted_cpu_s,
        median(device_s) as counted_device_s,
        median(wall_s) as counted_wall_s,
        median(result_rows / elapsed_s) as counted_per_s,
        count(*) as blocks
    from raw_timings
    where clock <> 'waited' and len(flags) = 0
    group by all
    having enough(elapsed_s)
)
select
    waited.study, waited.pair, twins.trial, waited.step, waited.cell, waited.cache,
    twins.* exclude (run_id, study, pair, trial, step),
    waited.elapsed_s, waited.cpu_s, waited.device_s,
    list_sum([io.intended_s for io in waited.tier_io]) as requests_s,
    waited.result_rows / waited.elapsed_s as per_s,
    waited.flags
from waited_checks as waited
join twins using (run_id, study, pair, step)
where twins.trial = replace(waited.trial, 'clock=waited/', '') and waited.cache <> 'hot' and starts_with(waited.pair, ?)
order by waited.study, waited.pair, twins.trial, waited.step
