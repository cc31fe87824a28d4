"""The verdicts on a run, judged once for all chapters of a build: every notebook kernel opens the run anew, and judging takes seconds."""

from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
from pydantic import ValidationError

from tierwise.analysis.judging import ClaimVerdict
from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.core.toml import Strict
from tierwise.report import staleness
from tierwise.report.study_registry import judge_all


class Kept(Strict):
    inputs: str
    verdicts: tuple[ClaimVerdict, ...]


def judged(run: Path, views: duckdb.DuckDBPyConnection | None = None) -> tuple[ClaimVerdict, ...]:
    """Return the verdicts of `study_registry.judge_all` on the run in folder `run`, judged once; on its `views`, where they are open."""
    return judged_once(run, lambda: judge_all(run.parent, run.name, views))


def judged_once(run: Path, judge: Callable[[], Sequence[ClaimVerdict]]) -> tuple[ClaimVerdict, ...]:
    """Return what `judge` says of the run in folder `run`; what it said before where rows, manifest, code and inputs are what they were."""
    site = paths.home() / "report" / "_site" if run.parent == paths.reference() else paths.site()  # the shipped run is the checkout's
    place = site.with_name("_build") / "verdicts" / f"{run.name}.json"
    inputs = staleness.inputs(run)
    before = _kept(place)
    if before is not None and before.inputs == inputs:
        return before.verdicts
    now = Kept(inputs=inputs, verdicts=tuple(judge()))
    text = now.model_dump_json(round_trip=True)  # without what is computed from the fields
    if Kept.model_validate_json(text) == now:  # what JSON cannot hold (an infinite bound) is judged anew each time
        write_whole(place, text)
    return now.verdicts


def _kept(place: Path) -> Kept | None:
    try:
        return Kept.model_validate_json(place.read_bytes())
    except (FileNotFoundError, ValidationError):  # none yet, or of an earlier version's fields
        return None
