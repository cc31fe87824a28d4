"""What a text leaves open: the value of its claim at each setting that it may have meant, and what that makes of a verdict at one of them.

A verdict at one setting stands where every point of the map has the same. Else the claim hangs on what the text does not state, and the
share of the map that agrees with it stands in place of the verdict. The share lies between that of the points whose whole interval is
inside the bounds and that of the points whose interval is not wholly outside.
"""

from collections.abc import Mapping, Sequence
from itertools import product

from pydantic import computed_field

from tierwise.analysis.causes import Cause, Reason, phrase
from tierwise.analysis.claim_rows import Rows, series_of
from tierwise.analysis.claims import Bounds, Claim
from tierwise.analysis.rules import DECIDED, Outcome, Verdict, combine, furthest_outside, judge_series, needed_bounds, within
from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.core.toml import Strict
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.timings.manifest import Manifest
from tierwise.timings.replicates import replicates_of


class Point(Strict):
    """The value of a claim at one setting (axis -> where on it), with its interval over replicates or seeds, held against the bounds."""

    setting: dict[str, str]
    estimate: float
    low: float
    high: float
    pairs: int
    verdict: Verdict


class OpenMap(Strict):
    """A claim's value at each setting that its text leaves open; `at_one` is the verdict at the one setting that decided before."""

    axes: tuple[str, ...]
    evidence: Evidence
    at_one: Verdict
    points: tuple[Point, ...]

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorator above a property
    @property
    def share(self) -> tuple[float, float]:
        """Return the share of the points that agree with the text for certain, and of those that may."""
        least, most = self._agreeing
        return least / len(self.points), most / len(self.points)

    @property
    def agreement(self) -> str:
        least, most = self._agreeing
        numbers: dict[str, object] = {"agree": str(least) if least == most else f"{least} to {most}", "settings": len(self.points)}
        return phrase("reasons.agreement", **numbers, evidence=self.evidence, axes=", ".join(self.axes))

    @property
    def _agreeing(self) -> tuple[int, int]:
        said = [point.verdict for point in self.points]
        return said.count(Verdict.CONFIRMED), len(said) - said.count(Verdict.CONTRADICTED)

    def outcome(self, at_one: Outcome) -> Outcome:
        """Return the outcome `at_one` setting; undecided where some point of the map does not say the same."""
        if at_one[0] not in DECIDED or {point.verdict for point in self.points} == {at_one[0]}:
            return at_one
        return Verdict.UNDECIDED, Cause.LEFT_OPEN, Reason("cases", {"cause": Cause.LEFT_OPEN, "cases": self.agreement})


def points_of(found: Sequence[tuple[Mapping[str, str], Estimate]], bounds: Bounds) -> tuple[Point, ...]:
    """Return a point for each (setting, estimate), held against `bounds`; those without an interval are left out."""
    return tuple(
        Point(setting=dict(setting), **estimate.fields, verdict=within(bounds, estimate))
        for setting, estimate in found
        if estimate.value is not None and estimate.interval
    )


def map_of(claim: Claim, manifest: Manifest, pair: str, at_one: Verdict) -> OpenMap | None:
    """Return the map of `claim` that the run of `manifest` simulated on `pair`; `None` where the claim or the run has none."""
    mapped, bounds = claim.left_open, claim.bounds
    record = next((one for one in manifest.studies if mapped and (one.name, one.pair) == (mapped.study, pair)), None)
    if mapped is None or bounds is None or record is None:
        return None
    found = []
    for entry in record.facts.get(mapped.key) or ():
        greater, than = (entry[mapped.value][name] for name in (mapped.greater, mapped.than))
        ratios = {seed: one / other for seed, one, other in zip(replicates_of(entry, len(than)), greater, than, strict=True)}
        found.append(({axis: f"{entry[axis]:g}" for axis in mapped.axes}, geometric_estimate(ratios)))
    points = points_of(found, bounds)
    return OpenMap(axes=mapped.axes, evidence=Evidence.SIMULATED, at_one=at_one, points=points) if points else None


def measured_map(claim: Claim, rows: Rows, pair: str, variants: Sequence[str], io_mode: IoMode, *, at_one: Verdict) -> OpenMap | None:
    """Return the map of `claim` by `variants` over the settings that were measured, of each as far as its cases were; `None` where there is
    but one setting.
    """
    points, kinds, bounds = list[Point](), set[Evidence](), needed_bounds(claim)
    for setting, variant in product(claim.settings, variants):
        series = [one for one in series_of(rows, claim.at(setting), pair, variant) if one.io_mode is io_mode]
        kinds.update(*(one.evidence_kinds for one in series))
        known = [case for case in judge_series(claim, series) if case.low is not None]
        if known:  # one point, as one verdict holds for all cases of a setting
            furthest, (verdict, _, _) = furthest_outside(known, bounds), combine(known, len(known), bounds)
            points.append(Point(setting={**setting, "variant": variant}, **furthest.as_estimate.fields, verdict=verdict))
    if all(setting == claim.settings[0] for setting in claim.settings if any(point.setting.items() >= setting.items() for point in points)):
        return None
    return OpenMap(axes=claim.open_axes, evidence=Evidence.of(kinds), at_one=at_one, points=tuple(points))
