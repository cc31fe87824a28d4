"""Versions of the report: their order, what differs between two, and which input caused it."""

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from report_built import Built, placed
from report_run import RUN_ID
from tierwise.cli import app
from tierwise.core.errors import InputError
from tierwise.report import pandoc_engine, versions
from tierwise.report.changes import NONE, compare
from tierwise.report.facts import ClaimFact, Facts, FigureFact, load_facts
from tierwise.report.render import render
from tierwise.report.site import ORDER

NOW = Facts(
    version="2026-02-01-v2-run2",
    run_id="run2",
    inputs={"code": {"report": "v1"}, "prices": {"prices/disks.csv": "aaaa"}, "host": {"cpu": "x"}},
    claims={"M1": ClaimFact(verdict="confirmed", found="0.05 (0.04 to 0.06)", estimate=0.05, low=0.04, high=0.06)},
    figures={"fig-a": FigureFact(rows=10, sha256="f1")},
    tables={"tbl-a": ("| x |", "|---|", "| 1 |")},
    answers={"2": "Put the index on the SSD."},
)


def like_now(**changes: object) -> Facts:
    return Facts.model_validate({**NOW.model_dump(), "version": "2026-01-01-v1-run1", "run_id": "run1", **changes})


def test_versions_that_say_the_same_differ_in_nothing() -> None:
    changes = compare(like_now(run_id="run2"), NOW)
    assert not any(changes.effects.values())
    assert changes.cause() == "No input differs, and both show the same run."
    assert "Nothing that the report says differs." in changes.as_text()


@pytest.mark.parametrize("kind", ["code", "prices", "host"])
def test_the_one_input_that_differs_is_the_cause(kind: str) -> None:
    inputs = {**NOW.inputs, kind: dict.fromkeys(NOW.inputs[kind], "other")}
    changes = compare(like_now(inputs=inputs), NOW)
    assert changes.cause() == f"Only one input differs, {kind}: it caused whatever differs below, or the scatter of measuring anew did."
    rendered_again = compare(like_now(inputs=inputs, run_id="run2"), NOW)
    assert rendered_again.cause() == f"Only one input differs, {kind}: it caused whatever differs below."
    (change,) = changes.causes[kind]
    assert (change.name, change.before, change.after) == (*NOW.inputs[kind], "other", *NOW.inputs[kind].values())


def test_claims_figures_tables_and_answers_are_compared_and_what_is_new_or_gone_is_reported() -> None:
    before = like_now(
        claims={"M1": {**NOW.claims["M1"].model_dump(), "verdict": "undecided"}, "M9": NOW.claims["M1"].model_dump()},
        figures={},
        tables={"tbl-a": ("| x |", "|---|", "| 2 |", "| 3 |")},
        answers={"2": "Put the table on the SSD."},
    )
    effects = compare(before, NOW).effects
    claims = {change.name: (change.before, change.after) for change in effects["claims"]}
    assert claims == {
        "M1": ("undecided: 0.05 (0.04 to 0.06)", "confirmed: 0.05 (0.04 to 0.06)"),
        "M9": ("confirmed: 0.05 (0.04 to 0.06)", NONE),
    }
    assert [(change.name, change.before, change.after) for change in effects["figures"]] == [("fig-a", NONE, "10 rows, f1")]
    assert [(change.before, change.after) for change in effects["tables"]] == [("2 lines of its own", "1 line of its own")]
    assert [(change.before, change.after) for change in effects["answers"]] == [("Put the table on the SSD.", "Put the index on the SSD.")]


def earlier_version(site: Path, now: Facts) -> Facts:
    """Return an older version in `site` that said something else of M1 and had another figure."""
    claim = now.claims["M1"].model_copy(update={"verdict": "confirmed", "found": "0.05*"})
    other = {"claims": {**now.claims, "M1": claim}, "figures": {"fig-gone": FigureFact(rows=3, sha256="0")}}
    inputs = {**now.inputs, "code": {"report": "v0"}}
    facts = now.model_copy(update={"version": f"2000-01-01-v0-{RUN_ID}", "inputs": inputs, **other})
    (site / facts.version).mkdir(parents=True)
    facts.save(site / facts.version)
    (site / facts.version / "index.html").write_text("old", encoding="utf-8")
    (site / ORDER).write_text(json.dumps([facts.version]), encoding="utf-8")
    return facts


@pytest.fixture(scope="module")
def second(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a version that was built after an older one, without its PDFs."""
    site = tmp_path_factory.mktemp("versions") / "_site"
    earlier_version(site, load_facts(built.site))
    with placed(built.root, site), pytest.MonkeyPatch.context() as patch:
        patch.setattr(pandoc_engine, "_typeset", lambda *_: None)
        return render(run_id=RUN_ID, executed=built.executed, engine="plain")


def test_a_version_says_what_changed_since_the_one_before(built: Built, second: Path) -> None:
    page = BeautifulSoup((second / "index.html").read_bytes(), "html.parser")
    chapter = page.select_one("#sec-changed")
    assert chapter is not None
    told = " ".join(chapter.get_text(" ").split())
    assert f"2000-01-01-v0-{RUN_ID}" in told
    assert "Only one input differs, code" in told
    assert "0.05*" in told  # as it was, not as Markdown
    assert "fig-gone 3 rows, 0 none" in told
    assert chapter.select_one('a[href="#fig-times"]') is not None
    first = BeautifulSoup((built.site / "index.html").read_bytes(), "html.parser").select_one("#sec-changed")
    assert first is not None
    assert "No version" in first.get_text()


def test_two_versions_are_named_by_any_part_that_is_their_own(built: Built, second: Path) -> None:
    with placed(built.root, second.parent):
        assert versions.differing("2000", "latest") == versions.differing("v0", second.name)
        with pytest.raises(InputError, match="no version; there are"):
            versions.find("reference")  # none was built of the run that ships
        with pytest.raises(InputError, match="several versions"):
            versions.find(RUN_ID)
        with pytest.raises(InputError, match="no version; there are: 2000-01-01"):
            versions.find("nonesuch")
        said = CliRunner().invoke(app, ["diff", "2000", "--format", "json"])
    assert json.loads(said.stdout)["effects"]["claims"][0]["before"] == "confirmed: 0.05*"
