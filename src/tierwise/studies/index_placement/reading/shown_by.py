"""What this study's rows tell about a topic on which sources meet; named in ``data/published/questions.toml``."""

from typing import Final

from tierwise.report.formats import count, listed
from tierwise.report.run import Run, source_pair
from tierwise.report.variants import PUBLISHED, Truth, label, saves, variants
from tierwise.report.words import NOTHING
from tierwise.studies.index_placement.reading.chapter_summary import SAVING
from tierwise.studies.index_placement.reading.figures import main_io_mode


def confirming_variants(run: Run) -> str:
    """Return the other ways to run the census study's test in which the published saving is there."""
    claim = run.verdict(SAVING)
    if claim is None or claim.bounds is None or claim.bounds[1] is None:
        return NOTHING
    others = [one for one in variants(claim) if one.variant != PUBLISHED and one.io_mode == main_io_mode(run, source_pair("M"))]
    saving = [label(one) for one in others if saves(one, claim.bounds[1]) is Truth.TRUE]
    unknown = sum(saves(one, claim.bounds[1]) is Truth.UNKNOWN for one in others)
    open_ones = f" (for {count(unknown)} this run cannot tell)" if unknown else ""
    return (
        f"Of {count(len(others))} other ways to run it, the saving is there in {listed(saving) or 'none'}{open_ones}" if others else NOTHING
    )


TELLING: Final = (confirming_variants,)
