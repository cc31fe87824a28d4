select tier, count(*) as n, median(elapsed_s) as median_s, median(ratio) as ratio, median(result_rows) as found
from toy_x where pair = $pair and not flagged group by tier having enough(elapsed_s) order by tier
