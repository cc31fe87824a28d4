"""What this study's rows tell about a topic on which sources meet; named in ``data/published/questions.toml``."""

from typing import Final

from tierwise.report.arms import PUBLISHED, Truth, arms, label, saves
from tierwise.report.formats import count, listed
from tierwise.report.run import Run, source_pair
from tierwise.report.words import NOTHING
from tierwise.studies.index_placement.reading.chapter_summary import SAVING
from tierwise.studies.index_placement.reading.figures import main_arm


def confirming_arms(run: Run) -> str:
    """Return the other ways to run the census study's test in which the published saving is there."""
    claim = run.verdict(SAVING)
    if claim is None or claim.bounds is None or claim.bounds[1] is None:
        return NOTHING
    others = [arm for arm in arms(claim) if arm.variant != PUBLISHED and arm.io_mode == main_arm(run, source_pair("M"))]
    saving = [label(arm) for arm in others if saves(arm, claim.bounds[1]) is Truth.TRUE]
    unknown = sum(saves(arm, claim.bounds[1]) is Truth.UNKNOWN for arm in others)
    open_ones = f" (for {count(unknown)} this run cannot tell)" if unknown else ""
    return (
        f"Of {count(len(others))} other ways to run it, the saving is there in {listed(saving) or 'none'}{open_ones}" if others else NOTHING
    )


TELLING: Final = (confirming_arms,)
