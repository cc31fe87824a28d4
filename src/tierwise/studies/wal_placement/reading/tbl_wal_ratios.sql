select group_commit, clients, wal, over, replicate, ratio, if(flagged, 'rejected', 'none') as flag
from wal_placement
where pair = $pair and group_commit = over_group_commit and (wal, over) in (('ssd', 'hdd'), ('cached', 'hdd'), ('ssd', 'cached'))
order by all
