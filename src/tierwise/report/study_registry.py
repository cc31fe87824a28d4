"""The registry of the studies' reading sides: found by file names, so that nothing here names a study."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import duckdb
from pydantic import ValidationError

from tierwise.analysis.claims import Claim, Kind
from tierwise.analysis.judging import JUDGES, ClaimVerdict, Grounds, Judge, Judges
from tierwise.analysis.today import Own
from tierwise.analysis.verdicts import judge
from tierwise.core import paths, studies
from tierwise.core.files import write_whole
from tierwise.core.toml import Strict
from tierwise.report import staleness
from tierwise.timings.references import MANIFEST


def reading(study: str, name: str) -> ModuleType:
    """Return the module `name` of the reading side of `study`, for a chapter that is of several studies."""
    return import_module(f"tierwise.studies.{studies.known(study)}.reading.{name}")


def named(name: str) -> Iterable[tuple[str, ModuleType]]:
    return [(study, reading(study, name)) for study in studies.having(f"reading/{name}.py")]


def judges() -> Judges:
    """Return who judges a claim of which kind: of kind ``cost`` the studies' own judges (``MONEY`` of their ``money.py``), by claim."""
    of_cost: dict[str, Judge] = {claim: own for _, module in named("money") for claim, own in module.MONEY.items()}

    def cost(claim: Claim, on: Grounds) -> ClaimVerdict:
        """Judge a cost on the source's pair alone: the reader's own pair has no price to judge it by."""
        return on.absent() if on.readers or claim.id not in of_cost else of_cost[claim.id](claim, on)

    return {**JUDGES, Kind.COST: cost}


def todays() -> Mapping[str, Own]:
    """Return what studies themselves report of a claim on the pair of today (``TODAY`` of their ``money.py`` or ``today.py``), by claim."""
    modules = [*named("money"), *named("today")]
    return {claim: Own(study, cases) for study, module in modules for claim, cases in getattr(module, "TODAY", {}).items()}


def judge_all(raw: Path, run_id: str | None = None, views: duckdb.DuckDBPyConnection | None = None) -> list[ClaimVerdict]:
    """Return `analysis.verdicts.judge` with the judges of every study, beside the reference run; costs are judged without a run too."""
    shipped = sorted(paths.reference().glob(f"*/{MANIFEST}"))
    return judge(raw, run_id, judges=judges(), todays=todays(), reference=shipped[0].parent if shipped else None, views=views)


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
