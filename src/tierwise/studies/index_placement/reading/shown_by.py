"""What this study's rows show of a topic on which sources meet; named in ``data/published/questions.toml``."""

from typing import Final

from tierwise.report.page import open_page
from tierwise.report.run import Run, source_pair
from tierwise.report.words import NOTHING
from tierwise.studies.index_placement.reading.names import STUDY


def confirming_variants(run: Run) -> str:
    """Return in how many variants of the census study's test the published saving is there."""
    page = open_page(run, STUDY, source_pair("M"))
    known = page.own["answered"] and page.own["variants"]
    return page.body("sec-index-meeting").text.rstrip(".") if known else NOTHING


TELLING: Final = (confirming_variants,)
