"""What a verdict needs beside its rows: rates that its source states, what a text leaves open, and the I/O mode that decides."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from pgbench_rows import LARGE, SMALL, pgbench_rows
from rows import make_manifest, make_rows, save_run
from support import SMOKE_RAW, SMOKE_RUN
from tierwise.analysis.causes import Cause, phrase
from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import Bounds, Case, load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.left_open import OpenMap, points_of
from tierwise.analysis.rates import compare_rates, held_to, load_rates
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import geometric_estimate
from tierwise.analysis.verdicts import changes_of, marks_of
from tierwise.analysis.views import open_views
from tierwise.bench.study import Study
from tierwise.bench.study_registry import load_study
from tierwise.core.pairs import load_pair
from tierwise.core.profiles import load_profile
from tierwise.core.rule_history import RuleHistory, load_rules
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.report.study_registry import judge_all
from tierwise.timings.manifest import load_manifest

EVERY = load_claims()
CLAIMS = {claim.id: claim for claim in EVERY.claims}


def held(raw: Path, claim: str, verdict: Verdict, *rows: pl.DataFrame) -> ClaimVerdict:
    folder = save_run(raw, pl.concat(rows))
    with open_views(raw, folder.name) as connection:
        manifest = load_manifest(folder)
        return held_to(CLAIMS[claim], ClaimVerdict(verdict=verdict), compare_rates(Rows(connection, manifest)), manifest)


@pytest.mark.parametrize(("tps", "verdict"), [(1_600.0, Verdict.CONFIRMED), (1_400.0, Verdict.UNDECIDED), (9_000.0, Verdict.CONFIRMED)])
def test_a_model_beyond_a_factor_of_two_judges_nothing_and_a_lower_limit_has_one_side(tmp_path: Path, tps: float, verdict: Verdict) -> None:
    found = held(tmp_path, "V4", Verdict.CONFIRMED, pgbench_rows(dict.fromkeys(SMALL, tps), size="small"))
    assert found.verdict is verdict
    assert (found.cause is Cause.STATED_RATE) == (verdict is Verdict.UNDECIDED)
    assert found.cause is None or "by itself, the result would be confirmed" in found.reason


def test_a_verdict_says_where_its_source_states_nothing_comparable(tmp_path: Path) -> None:
    for claim, conditions in (("V3", (phrase("conditions.not_comparable"),)), ("V9", ())):  # the latter is a count of pages
        found = held(tmp_path / claim, claim, Verdict.CONFIRMED, pgbench_rows(LARGE))
        assert (found.verdict, found.conditions) == (Verdict.CONFIRMED, conditions)


def test_the_claims_that_a_rate_names_are_judged() -> None:
    named = {claim for rate in load_rates().rates for claim in rate.claims}
    assert named <= {claim.id for claim in CLAIMS.values() if not claim.unjudged and not claim.counts}
    assert {rate.source for rate in load_rates().rates} == {claim.source for claim in load_claims().claims}, "each source has one at least"
    assert {claim for change in load_rules().changes for claim in change.claims} <= CLAIMS.keys() | {"all", "orders", "cases", "advice"}


def test_a_rule_is_newer_than_a_run_that_records_an_older_version() -> None:
    manifest, now = make_manifest(make_rows(replicates=1)), load_rules().version
    assert marks_of(CLAIMS["M2"], manifest)["rule_newer"], "a run without a record is older than rules of a later day"
    for version, newer in ((now, False), (now.model_copy(update={"version": 1}), True)):
        marks = marks_of(CLAIMS["M2"], manifest.model_copy(update={"rules": version}))
        assert marks == {"rule_newer": newer, "rule_after_results": True}
    assert not any(change.seen for change in changes_of(CLAIMS["M13"]) if change.claims == ("M13", "M14")), "chosen before its trial"


def test_changes_must_be_in_the_order_of_their_days() -> None:
    changes = load_rules().changes
    with pytest.raises(ValueError, match="in the order of their days"):
        RuleHistory(changes=(changes[-1], changes[0]))


BOUNDS = Bounds(lower=1.4, upper=1.5)


def mapped(*values: float, at_one: Verdict = Verdict.CONFIRMED) -> OpenMap:
    found = [
        ({"clients": str(number)}, geometric_estimate([value * 1.001**seed for seed in range(5)])) for number, value in enumerate(values)
    ]
    return OpenMap(axes=("clients",), evidence=Evidence.SIMULATED, at_one=at_one, points=points_of(found, BOUNDS))


@pytest.mark.parametrize("verdict", [Verdict.CONFIRMED, Verdict.CONTRADICTED])
def test_what_one_setting_says_stands_where_every_other_says_the_same(verdict: Verdict) -> None:
    inside, outside = (1.42, 1.45, 1.48), (1.1, 2.0)
    same, other = (inside, outside) if verdict is Verdict.CONFIRMED else (outside, inside)
    assert mapped(*same).outcome((verdict, None, "")) == (verdict, None, "")
    for points in (other, (*same, other[0]), (*same, 1.4999)):
        found = mapped(*points).outcome((verdict, None, ""))
        assert found[:2] == (Verdict.UNDECIDED, Cause.LEFT_OPEN)


DECIDING = {study: one.io_mode for study, one in EVERY.deciding.items() if one.io_mode and one.variant == "published"}
"""Study -> the I/O mode in which its published protocol decides."""
CASES = [
    (claim.pair[-1].upper() if claim.pair else claim.source, case)
    for claim in EVERY.claims
    for case in claim.cases
    if case.study in DECIDING
]


def cells(study: str, source: str, profile: str) -> list[dict[str, str]]:
    found = load_study(study)
    assert isinstance(found, Study)
    trials = found.trials(load_profile(profile), load_pair(EVERY.sources[source].pair))
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
    judged = {verdict.id: verdict for verdict in judge_all(SMOKE_RAW, SMOKE_RUN.name)}
    for study, decides in EVERY.deciding.items():
        if decides.io_mode and study not in DECIDING:
            claims = [judged[claim.id] for claim in EVERY.claims if any(case.study == study for case in claim.cases)]
            measured = {(one.variant, one.io_mode) for verdict in claims for one in (verdict, *verdict.others)}
            assert (decides.variant, decides.io_mode) in measured


@pytest.mark.parametrize("profile", ["smoke", "quick", "full"])
def test_every_profile_measures_a_study_in_the_io_mode_that_decides_alone(profile: str) -> None:
    for study, mode in DECIDING.items():
        source = next(source for source, case in CASES if case.study == study)
        assert {cell["io_mode"] for cell in cells(study, source, profile)} == {mode}, study
