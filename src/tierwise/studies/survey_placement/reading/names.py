"""Names of the queries and placements of the survey's second battery."""

from typing import Final

from tierwise.core.sql_files import named_statements
from tierwise.report import colours
from tierwise.report.words import names_in

STUDY: Final = "survey_placement"
SQL: Final = named_statements(__package__, "queries.sql")
PAIR: Final = "source-h"
BASE: Final = "all_hdd"  # the placement that the others are compared with
INDEXES, SOURCE, DETECTION, TEMPORARY = "index_ssd", "source_ssd", "detection_ssd", "temp_ssd"
SCALED: Final = "join_single"  # the query that is simulated at several sizes
QUERIES: Final = names_in(STUDY, "queries")
PLACEMENTS: Final = names_in(STUDY, "placements")
COLOURS: Final = {
    BASE: colours.PLACEMENTS["disks"],
    INDEXES: colours.PLACEMENTS["indexes"],
    **dict.fromkeys((SOURCE, DETECTION, TEMPORARY), colours.PLACEMENTS["tables"]),
}
