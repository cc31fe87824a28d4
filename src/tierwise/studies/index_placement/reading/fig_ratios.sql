select * exclude (pair, time_ms) from index_placement_gains
where variant = 'published' and placement = 'index on SSD' and pair = $pair order by all
