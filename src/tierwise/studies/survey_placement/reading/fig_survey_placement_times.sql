select query, io_mode, placement as place, replicate + 1 as replicate, elapsed_s, flags
from survey_placement
where pair = $pair and io_mode = $io_mode
order by query, place, replicate
