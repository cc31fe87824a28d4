"""What may move with a parameter: the values that claims are judged on, and the ratios of the headlines, by replicate."""

from collections.abc import Iterator, Mapping
from typing import Final

from tierwise.analysis.claim_rows import series_of
from tierwise.analysis.claims import Kind, load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.model_interval import CLAIM, Key
from tierwise.analysis.rules import odds
from tierwise.report.run import Run
from tierwise.report.values.headlines import headlines_of

JUDGED: Final = {Kind.RATIO, Kind.ABSOLUTE, Kind.SHARE, Kind.ORDER}  # kinds of claims whose cases have an interval of replicates

Values = Mapping[Key, Mapping[int, float]]


def values_of(run: Run, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]) -> Values:
    """Return the values of `study` on `pair` in `run`: of claims by the variant and I/O mode of `verdicts`, shares as odds."""
    return {**dict(_of_claims(run, study, pair, verdicts)), **dict(headlines_of(run, study, pair))}


def _of_claims(run: Run, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]) -> Iterator[tuple[Key, Mapping[int, float]]]:
    known = load_claims()
    for claim in known.claims:
        own = (claim.pair or known.sources[claim.source].pair) == pair
        decides, judged = verdicts.get(claim.id), claim.kind in JUDGED and own and not claim.counts
        if not judged or decides is None or decides.io_mode is None or {case.study for case in claim.cases} != {study}:
            continue
        for series in series_of(run.store, claim, pair, decides.variant):
            if series.io_mode is decides.io_mode:
                share = claim.kind is Kind.SHARE
                values = {replicate: odds(value) if share else value for replicate, value in series.values.items()}
                yield Key(pair, CLAIM, claim.id, series.case, decides.variant, str(series.io_mode)), values
