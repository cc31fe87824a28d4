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
from tierwise.report.facts import Facts, load_facts
from tierwise.report.render import render
from tierwise.report.site import ORDER

NOW = Facts(
    version="2026-02-01-v2-run2",
    run_id="run2",
    inputs={"code": {"report": "v1"}, "prices": {"prices/disks.csv": "aaaa"}, "host": {"cpu": "x"}},
    statements={
        "claims": {"M1": "confirmed: 0.05 (0.04 to 0.06)"},
        "figures": {"fig-a": "10 rows, f1"},
        "tables": {"tbl-a": "2 lines, t1"},
        "answers": {"2": "Put the index on the SSD."},
    },
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
        statements={
            "claims": {"M1": "undecided: 0.05 (0.04 to 0.06)", "M9": "confirmed"},
            "figures": {},
            "tables": {"tbl-a": "3 lines, t0"},
            "answers": {"2": "Put the table on the SSD."},
        }
    )
    found = {kind: [(one.name, one.before, one.after) for one in changes] for kind, changes in compare(before, NOW).effects.items()}
    assert found == {
        "claims": [("M1", "undecided: 0.05 (0.04 to 0.06)", "confirmed: 0.05 (0.04 to 0.06)"), ("M9", "confirmed", NONE)],
        "figures": [("fig-a", NONE, "10 rows, f1")],
        "tables": [("tbl-a", "3 lines, t0", "2 lines, t1")],
        "answers": [("2", "Put the table on the SSD.", "Put the index on the SSD.")],
    }


def earlier_version(site: Path, now: Facts) -> Facts:
    """Return an older version in `site` that said something else of M1 and had another figure."""
    claims = {**now.statements["claims"], "M1": "confirmed: 0.05*"}
    other = {"statements": {**now.statements, "claims": claims, "figures": {"fig-gone": "3 rows, 0"}}}
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


def test_the_list_of_versions_says_what_changed_since_the_one_before(second: Path) -> None:
    first, last = BeautifulSoup((second.parent / "index.html").read_bytes(), "html.parser").select("li")[::-1]
    assert first.get_text().endswith("; the first")
    assert "since the one before it differ: 1 claim, " in last.get_text()


def test_two_versions_are_named_by_any_part_that_is_their_own(built: Built, second: Path) -> None:
    with placed(built.root, second.parent):
        assert versions.differing("2000", "latest") == versions.differing("v0", second.name)
        with pytest.raises(InputError, match="no version; there are"):
            versions.find("reference")  # none was built of the run that ships
        with pytest.raises(InputError, match="several versions"):
            versions.find(RUN_ID)
        with pytest.raises(InputError, match="no version; there are: 2000-01-01"):
            versions.find("nonesuch")
        said, text = (CliRunner().invoke(app, ["diff", "2000", *form]) for form in (["--format", "json"], []))
    assert json.loads(said.stdout)["effects"]["claims"][0]["before"] == "confirmed: 0.05*"
    assert "Only one input differs, code" in text.stdout
    assert "  fig-gone\n    before: 3 rows, 0\n    after:  none\n" in text.stdout
