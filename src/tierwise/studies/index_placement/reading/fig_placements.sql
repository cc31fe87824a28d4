select * exclude (pair, variant) from index_placement_gains where variant = 'published' and pair = $pair and cache = $cache order by all
