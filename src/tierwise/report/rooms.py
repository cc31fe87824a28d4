"""What the reading sides of the studies' rooms add to what is read of every study: found by file names, so that nothing here names one."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tierwise.analysis.claims import Claim, Kind
from tierwise.analysis.judging import JUDGES, Grounds, Judge, Judgement
from tierwise.analysis.verdicts import ClaimVerdict, judge
from tierwise.core import paths, studies
from tierwise.timings.references import MANIFEST


def modules(name: str) -> Iterable[ModuleType]:
    """Return the module `name` of every reading side that has one, by study."""
    return [import_module(f"tierwise.studies.{study}.reading.{name}") for study in studies.having(f"reading/{name}.py")]


def judges() -> Mapping[Kind, Judge]:
    """Return who judges a claim of which kind: of kind ``cost`` the studies' own judges (``MONEY`` of their ``judges.py``), by claim."""
    of_cost: dict[str, Judge] = {claim: own for module in modules("judges") for claim, own in module.MONEY.items()}

    def cost(claim: Claim, on: Grounds) -> Judgement:
        """A cost is its source's: the reader's own pair has no price that it could be judged by."""
        return on.absent() if on.readers or claim.id not in of_cost else of_cost[claim.id](claim, on)

    return {**JUDGES, Kind.COST: cost}


def judge_all(raw: Path, run_id: str | None = None) -> list[ClaimVerdict]:
    """Return `analysis.verdicts.judge` with the judges of every room, beside the reference run; without any run costs are judged from what
    was published."""
    shipped = sorted(paths.reference().glob(f"*/{MANIFEST}"))
    return judge(raw, run_id, judges=judges(), reference=shipped[0].parent if shipped else None)
