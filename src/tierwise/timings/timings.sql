-- The rows that are read: raw rows, those in virtual time with a steady host's part. Cells that were also measured in real time, as a
-- check of the virtual clock, are left out (view `real_time_checks`).
--
-- A virtual-time row is its devices' time and its host's: what a query computed. The devices' is its own; the host's is the median over the
-- repetitions, each at the speed that the processors had for a fixed work (`reference_s`) in its replicate, the median over the replicate's
-- trials, over their usual one in the run (of a merged run, in the run that the replicate is of: `replicate // 1000`,
-- timings/replicates.py). One trial's own is a few milliseconds beside other work and scatters more than what it is to
-- even out: it made the host's part of a cell scatter 1.5 times as much (benchmarks/by_name/virtual_time.py).
-- The host's part of a hot query is held against its own session's work, which was done beside each of its executions.
-- Where the host's parts differ so much between repetitions that their scatter (1.4826 times the median absolute deviation) is more than a
-- twentieth of the whole (assumed), the median would feign steadiness: then each row of the study on that pair has its own host's part, so
-- that intervals carry the scatter and no ratio mixes the two; a hot query, which is nothing else, bears the flag `host` and gives no
-- verdict. Below five repetitions nothing is judged anyway.
--
-- A phase of a window bears the flag `jumped` where its clock went on, while nobody ran, for longer than all its requests took together, by
-- more than a tenth of its time (assumed): its sessions were blocked by what no device serves, such as the kernel's own writing back. The
-- clock stands then, and after a second goes by real time; in runs of versions before 0.2.0 it went on to the window's end at once. (The
-- log's windows are exempt: their sessions sleep before a commit, which the clock counts.)
-- The flag `unseen` of a raw row rejects nothing here: it says that the recorder did not see what memory served.
create temp table timings as
with
usual as (
    select run_id, replicate // 1000 as run, median(reference_s) as usual_s
    from raw_timings
    where clock <> 'real' and reference_s > 0
    group by all
),
replicates as (
    select run_id, study, pair, replicate, median(reference_s) as replicate_s
    from raw_timings
    where clock <> 'real' and reference_s > 0
    group by all
),
own as (
    select
        run_id, run, study, pair, trial, step, replicate, flags, elapsed_s,
        cpu_s * coalesce(usual_s / if(cache = 'hot', reference_s, replicate_s), 1) as own_s
    from (select *, replicate // 1000 as run from raw_timings)
    left join usual using (run_id, run)
    left join replicates using (run_id, study, pair, replicate)
    where clock <> 'real' and reference_s is not null and cpu_s is not null
),
host as (
    select
        run_id, run, study, pair, trial, step,
        median(own_s) as host_s,
        count(*) >= 5 and 1.4826 * mad(own_s) / median(elapsed_s) > 0.05 as unsteady
    from own
    where len(flags) = 0
    group by all
),
estimators as (
    select *, bool_or(unsteady) over (partition by run_id, run, study, pair) as apart
    from host
)
select raw_timings.* replace (
    coalesce(device_s + if(apart, own_s, host_s), raw_timings.elapsed_s) as elapsed_s,
    list_concat(
        list_filter(raw_timings.flags, lambda flag: flag <> 'unseen'),
        if(unsteady and cache = 'hot', ['host'], []),
        if(
            cell ->> 'phase' <> 'commits'
            and device_s > list_sum([io.intended_s for io in tier_io]) + 0.1 * raw_timings.elapsed_s,
            ['jumped'],
            []
        )
    ) as flags
)
from raw_timings
left join own using (run_id, study, pair, trial, step, replicate)
left join estimators using (run_id, run, study, pair, trial, step)
where cell ->> 'clock' is null;

-- Rows of the cells that were also measured in real time.
create temp view real_time_checks as
select *
from raw_timings
where cell ->> 'clock' = 'real';

-- The processor time of a row, of all processors together. `cpu_s` is less in a window of several sessions: there it is what the clock went
-- on by, which is the processor time that is charged over the number of processes that could run, at most the processors that the clock
-- assumes. What is charged stands in the proof of such a row.
create temp macro processor_s(proof, cpu_s) as coalesce(
    (proof -> 'processor' ->> 'used_s')::double
        * (1 - (proof -> 'processor' ->> 'mount_share')::double)
        * (proof -> 'processor' ->> 'pace')::double,
    cpu_s
);
