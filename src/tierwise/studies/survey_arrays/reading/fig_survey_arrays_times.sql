select query, io_mode, tier as place, replicate + 1 as replicate, elapsed_s, flags
from survey_arrays
where pair = $pair and io_mode = $io_mode and form = 'printed'
order by query, place, replicate
