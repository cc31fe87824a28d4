"""Write ``data/plan/intervals.toml`` anew from the reference run: ``PYTHONPATH=src .venv/bin/python scripts/record_intervals.py``.

The file has how far the replicates behind each interval lie apart, and from how many replicates on a case is expected to be decided: from
these a budget orders its replicates (`plan.budget`). ``make reference`` calls this script too.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tierwise.analysis.claims import Claim, Kind, load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import CaseVerdict, Verdict, needed_bounds, odds, within
from tierwise.analysis.runs import REFERENCE, find_run
from tierwise.analysis.statistics import MINIMUM_REPEATS, Estimate, t_of
from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.report.study_registry import judged

MOST: Final = 100  # the largest number of replicates that is looked at
Spread = tuple[str, str, float, int]
"""Claim, case, standard deviation of the logs of one replicate's value, and the replicates that decide the case (0: none do)."""


def spreads(verdicts: Sequence[ClaimVerdict]) -> dict[str, list[Spread]]:
    """Return the spread of every case with an interval, by study: those of the variant and I/O mode that decide."""
    of_claim = {claim.id: claim for claim in load_claims().every if claim.cases}
    found: dict[str, list[Spread]] = {}
    for verdict in verdicts:
        claim = of_claim.get(verdict.id)
        for case in verdict.cases if claim else ():
            if claim and (one := _spread(claim, case)):
                found.setdefault(claim.cases[0].study, []).append(one)
    return found


def _spread(claim: Claim, case: CaseVerdict) -> Spread | None:
    values = case.as_estimate
    if values.value is None or values.low is None or values.high is None or values.flat or values.freedom <= 0:
        return None
    share = claim.kind is Kind.SHARE
    value, low, high = (odds(one) if share else one for one in (values.value, values.low, values.high))
    sd = math.log(high / low) / 2 / t_of(values.freedom) * math.sqrt(case.pairs)
    return claim.id, case.case, float(f"{sd:.4g}"), _decided_from(claim, value, sd)


def _decided_from(claim: Claim, value: float, sd: float) -> int:
    bounds = needed_bounds(claim)
    if bounds is None:
        return MINIMUM_REPEATS
    for replicates in range(MINIMUM_REPEATS, MOST + 1):
        half = t_of(replicates - 1) * sd / math.sqrt(replicates)
        ends = [value * math.exp(-half), value, value * math.exp(half)]
        low, middle, high = (one / (1 + one) for one in ends) if claim.kind is Kind.SHARE else ends
        if within(bounds, Estimate(middle, low, high, replicates)) is not Verdict.UNDECIDED:
            return replicates
    return 0


def main(folder: Path) -> None:
    lines = [f'run = "{folder.name}"  # scripts/record_intervals.py writes this file', "", "[studies]"]
    for study, found in sorted(spreads(judged(folder)).items()):
        lines.append(f"{study} = [")
        for claim, case, log_sd, decided_from in found:
            named = f"claim = {json.dumps(claim)}, case = {json.dumps(case)}"
            lines.append(f"  {{ {named}, log_sd = {log_sd}, decided_from = {decided_from} }},")
        lines.append("]")
    write_whole(paths.data() / "plan" / "intervals.toml", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(find_run(REFERENCE))
