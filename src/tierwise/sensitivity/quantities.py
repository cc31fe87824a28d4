"""What may move with a parameter: the values that claims are judged on, and the ratios of the headlines, by replicate."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tierwise.analysis.claim_rows import series_of
from tierwise.analysis.claims import Kind, load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rules import odds
from tierwise.report.run import Run
from tierwise.report.study_registry import named
from tierwise.report.values.front import speedups, todays

CLAIM: Final = "claim"
SPEEDUP: Final = "speedup"
JUDGED: Final = {Kind.RATIO, Kind.ABSOLUTE, Kind.SHARE, Kind.ORDER}
"""Kinds of claims whose cases have an interval of replicates."""


class Quantity(NamedTuple):
    """One value: a case of the claim `name`, or a headline's ratio; by the variant and the I/O mode that decide."""

    kind: str
    name: str
    case: str
    variant: str
    io_mode: str


ByReplicate = Mapping[int, float]


def values_of(run: Run, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]) -> dict[Quantity, ByReplicate]:
    """Return the values of `study` on `pair` in `run`: of claims by the variant and I/O mode of `verdicts`, shares as odds."""
    found = dict(_of_claims(run, study, pair, verdicts))
    for rows in (speedups(run), todays(run)):
        for key, part in rows.filter(pair=pair).group_by("workload", "placement", "io_mode", maintain_order=True):
            workload, placement, io_mode = map(str, key)
            found[Quantity(SPEEDUP, workload, placement, "", io_mode)] = dict(part.select("replicate", "speedup").rows())
    for name, module in named("headlines"):
        if name == study:
            found |= {Quantity(name, of, case, "", ""): values for (of, case), values in module.headlines(run, pair).items()}
    return found


def _of_claims(run: Run, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]) -> Iterator[tuple[Quantity, ByReplicate]]:
    known = load_claims()
    for claim in known.claims:
        decides, judged = verdicts.get(claim.id), claim.kind in JUDGED and known.sources[claim.source].pair == pair
        if not judged or decides is None or decides.io_mode is None or {case.study for case in claim.cases} != {study}:
            continue
        for series in series_of(run.store, claim, pair, decides.variant):
            if series.io_mode is decides.io_mode:
                share = claim.kind is Kind.SHARE
                values = {replicate: odds(value) if share else value for replicate, value in series.values.items()}
                yield Quantity(CLAIM, claim.id, series.case, decides.variant, str(series.io_mode)), values
