with disks as (
    select pair, io_mode, query, replicate, index_io_s / all_io_s as of_indexes, source_io_s / all_io_s as of_source,
        detection_io_s / all_io_s as of_detection
    from survey_placement where placement = 'all_hdd'
)
select
    query, placement, replicate, elapsed_s, ratio, 1 / ratio as speedup, if(flagged, 'rejected', 'none') as flag,
    case placement when 'index_ssd' then of_indexes when 'source_ssd' then of_source when 'detection_ssd' then of_detection
    end as moved_share
from survey_placement left join disks using (pair, io_mode, query, replicate)
where pair = $pair and io_mode = $io_mode
order by query, placement, replicate
