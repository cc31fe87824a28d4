-- Pages found, read and written by relation and phase, per hundred transactions, where there are enough clean windows.
with judged as (
    select pair, trial, replicate, size, placement, io_mode
    from pgbench_placement
    where
        pair = $pair and variant = 'published' and clients = '8' and script = 'tpcb-like' and memory = '1' and judged = 'yes' and not flagged
        and placement in ('all_hdd', 'table_ssd')
    qualify enough(replicate) over (partition by trial)
)
select
    io_mode, size, placement, relation, phase,
    sum(hits) / nullif(sum(hits) + sum(reads), 0) as found_share,
    100 * sum(pages_read) / nullif(sum(phases.transactions), 0) as pages_read,
    sum(sequential_reads) / nullif(sum(requests_read), 0) as sequential_share,
    100 * sum(requests_written) / nullif(sum(phases.transactions), 0) as requests_written,
    1e5 * sum(io_s) / nullif(sum(phases.transactions), 0) as device_ms
from judged
join pgbench_placement_phases as phases using (pair, trial, replicate, size, placement, io_mode)
join pgbench_placement_relations as io using (pair, trial, replicate, step)
where list_contains($relations, relation)
group by io_mode, size, placement, relation, phase
order by size, placement, list_position($relations, relation), list_position(['before', 'checkpoint', 'after'], phase)
