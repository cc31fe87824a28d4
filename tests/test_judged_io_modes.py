"""Every judged cell is measured by the I/O mode that decides, in every profile."""

from collections.abc import Mapping

import pytest

import kept_smoke
from tierwise.analysis.claims import Case, load_claims
from tierwise.bench.study import Study
from tierwise.bench.study_registry import load_study
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.vocabulary import IoMode
from tierwise.report.study_registry import judge_all

CLAIMS = load_claims()
DECIDING = {study: one.io_mode for study, one in CLAIMS.deciding.items() if one.io_mode and one.variant == "published"}
"""Study -> the I/O mode in which its published protocol decides."""
CASES = [
    (claim.pair[-1].upper() if claim.pair else claim.source, case)
    for claim in CLAIMS.claims
    for case in claim.cases
    if case.study in DECIDING
]


def cells(study: str, source: str, profile: str) -> list[dict[str, str]]:
    found = load_study(study)
    assert isinstance(found, Study)
    trials = found.trials(load_profile(profile), load_pair(CLAIMS.sources[source].pair))
    reported = (
        {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in trial.coordinates.items()} for trial in trials
    )
    return [{**cell, "placement": trial.placed or cell.get("placement", "")} for cell, trial in zip(reported, trials, strict=True)]


def selected(case: Case, cell: Mapping[str, str]) -> bool:
    """Whether the claim is judged on it; what is counted with other processors has another script in the view."""
    return "processors" not in cell and all(cell.get(name, word) == word for name, word in case.select.items())


def without_io_mode(cell: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((name, value) for name, value in cell.items() if name != "io_mode")


@pytest.mark.parametrize("study", sorted({case.study for _, case in CASES}))
def test_every_judged_cell_of_full_is_measured_by_the_io_mode_that_decides(study: str) -> None:
    for source, case in CASES:
        if case.study == study:
            requested = [cell for cell in cells(study, source, "full") if selected(case, cell)]
            deciding = {without_io_mode(cell) for cell in requested if cell["io_mode"] == DECIDING[study]}
            assert deciding, f"{source} {case.name}"
            assert {without_io_mode(cell) for cell in requested if cell["io_mode"] == IoMode.DIRECT} <= deciding, f"{source} {case.name}"


def test_every_deciding_variant_is_one_that_a_run_has() -> None:
    judged = {verdict.id: verdict for verdict in judge_all(kept_smoke.RAW, kept_smoke.FOLDER.name)}
    for study, decides in CLAIMS.deciding.items():
        if decides.io_mode and study not in DECIDING:
            claims = [judged[claim.id] for claim in CLAIMS.claims if any(case.study == study for case in claim.cases)]
            measured = {(one.variant, one.io_mode) for verdict in claims for one in (verdict, *verdict.others)}
            assert (decides.variant, decides.io_mode) in measured


@pytest.mark.parametrize("profile", ["smoke", "quick", "full"])
def test_every_profile_measures_a_study_in_the_io_mode_that_decides_alone(profile: str) -> None:
    for study, mode in DECIDING.items():
        source = next(source for source, case in CASES if case.study == study)
        assert {cell["io_mode"] for cell in cells(study, source, profile)} == {mode}, study
