-- name: pages
select round(median(index_reads))::bigint as indexes, round(median(all_reads))::bigint as every from survey_placement
where pair = $pair and io_mode = $io_mode and query = $query and placement = $placement

-- name: moves
select placement, ssd, replicate, evidence, there_s, back_s from survey_moves
where pair = ? and not flagged and there_s is not null and back_s is not null and device_s is not null
and io_mode = ? order by placement, replicate

-- name: jobs
select query, placement, replicate, evidence, elapsed_s from survey_placement
where pair = ? and not flagged and io_mode = ?
order by query, placement, replicate

-- name: timed
select io_mode, count(*) filter (flagged) from survey_moves where pair = ? group by io_mode
