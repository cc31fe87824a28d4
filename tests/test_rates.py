"""A model judges a claim if it meets the rates that its source states within a factor of two."""

from pathlib import Path

import polars as pl
import pytest

from pgbench_rows import LARGE, SMALL, pgbench_rows
from rows import make_manifest, make_rows, save_run
from tierwise.analysis.causes import Cause, phrase
from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.rates import compare_rates, held_to, load_rates
from tierwise.analysis.rules import Verdict
from tierwise.analysis.verdicts import changes_of, marks_of
from tierwise.analysis.views import open_views
from tierwise.core.rule_history import RuleHistory, load_rules
from tierwise.timings.manifest import load_manifest

CLAIMS = {claim.id: claim for claim in load_claims().claims}


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
    assert {rate.source for rate in load_rates().rates} == set(load_claims().sources), "each source has one at least"
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
