"""How the second battery is shown: its queries and placements in words."""

from typing import Final

from tierwise.report.shown import Shown

SURVEY: Final = "data/published/survey.csv"
"""The survey's bars, as they are inferred: study, query, place, seconds."""
PLACEMENT: Final = Shown(
    study="survey_placement",
    column="placement",
    queries={
        "light_curves": "Light curves",
        "variable_light_curves": "Variable light curves",
        "join_single": "Source and Detection joined by a single index",
        "join_several": "Source and Detection joined by several indexes",
    },
    places={
        "all_hdd": "all on disks",
        "index_ssd": "indexes on SSDs",
        "source_ssd": "Source on SSDs",
        "detection_ssd": "Detection on SSDs",
    },
    published=SURVEY,
)
