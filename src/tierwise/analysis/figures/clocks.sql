-- The cells that were counted and, in the first replicate, also waited for: one row for each observation of a real-time cell that has a counted
-- twin with enough clean replicates, the twin's figures as medians over these. `requests_s` is the service times of the models in the real-time one and `device_s` what its
-- requests took; the virtual-time one's devices took `virtual_device_s`. A window of several sessions has transactions in place of devices' times.
-- Reads the views `raw_timings` and `real_time_checks`.
with twins as (
    select
        run_id, study, pair, trial, step,
        any_value(clock) as clock,
        median(elapsed_s) as virtual_s,
        median(cpu_s) as virtual_cpu_s,
        median(device_s) as virtual_device_s,
        median(wall_s) as virtual_wall_s,
        median(result_rows / elapsed_s) as virtual_per_s,
        count(*) as replicates
    from raw_timings
    where clock <> 'real' and len(flags) = 0
    group by all
    having enough(elapsed_s)
)
select
    real_time.study, real_time.pair, twins.trial, real_time.step, real_time.cell, real_time.cache,
    twins.* exclude (run_id, study, pair, trial, step),
    real_time.elapsed_s, real_time.cpu_s, real_time.device_s,
    list_sum([io.intended_s for io in real_time.tier_io]) as requests_s,
    real_time.result_rows / real_time.elapsed_s as per_s,
    real_time.flags
from real_time_checks as real_time
join twins using (run_id, study, pair, step)
where twins.trial = replace(real_time.trial, 'clock=real/', '') and real_time.cache <> 'hot'
order by real_time.study, real_time.pair, twins.trial, real_time.step
