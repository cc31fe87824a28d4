"""What is made again when something changes, and what is not: notebooks, pages and verdicts."""

import shutil
from pathlib import Path

import pytest

from report_run import RUN_ID, rich_run
from tierwise.analysis.judging import ClaimVerdict
from tierwise.core import paths
from tierwise.report import site, staleness
from tierwise.report.study_registry import judge_all, judged_once


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rich_run(tmp_path / "raw")
    for name in (*(f"data/{folder}" for folder in ("costs", "devices", "prices", "profiles", "published", "tiers")), "report", "notebooks"):
        shutil.copytree(paths.home() / name, tmp_path / name, ignore=shutil.ignore_patterns("_site", "_build"))
    shutil.copy(paths.home() / "requirements.txt", tmp_path)
    for name, value in (("HOME", tmp_path), ("RAW", tmp_path / "raw"), ("SITE", tmp_path / "_site")):
        monkeypatch.setenv(f"TIERWISE_{name}", str(value))
    executed = run() / "notebooks"
    executed.mkdir()
    for notebook in notebooks():
        shutil.copy(notebook, executed)
        staleness.keep(notebook, run(), executed)
    made = paths.site() / site.version_of(RUN_ID)
    made.mkdir(parents=True)
    (paths.site() / site.LATEST).symlink_to(made.name)
    staleness.keep_built(made, run(), "plain")
    return tmp_path


def run() -> Path:
    return paths.raw() / RUN_ID


def notebooks() -> list[Path]:
    return sorted((paths.home() / "notebooks").glob("show-*.ipynb"))


def stale() -> list[str]:
    return [path.stem for path in staleness.stale(notebooks(), run(), run() / "notebooks")]


def touch(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")


def test_when_nothing_changed_nothing_is_made(home: Path) -> None:
    assert stale() == []
    assert staleness.built(run(), "plain") == paths.site() / site.version_of(RUN_ID)


def test_a_version_by_the_other_engine_has_a_folder_of_its_own(home: Path) -> None:
    other = paths.site() / site.version_of(RUN_ID, site.QUARTO)
    other.mkdir()
    (paths.site() / site.LATEST).unlink()
    (paths.site() / site.LATEST).symlink_to(other.name)
    assert staleness.built(run(), "plain") is None
    staleness.keep_built(other, run(), "quarto")
    assert staleness.built(run(), "quarto") == other
    assert (paths.site() / site.version_of(RUN_ID)).is_dir()


def test_a_line_of_prose_needs_no_notebook_but_a_new_build(home: Path) -> None:
    touch(home / "report" / "method.qmd")
    assert stale() == []
    assert staleness.built(run(), "plain") is None


def test_a_changed_notebook_is_executed_alone(home: Path) -> None:
    touch(home / "notebooks" / "show-census.ipynb")
    assert stale() == ["show-census"]
    assert staleness.built(run(), "plain") is None


@pytest.mark.parametrize("name", ["data/published/claims.toml", "data/profiles/smoke.toml", "requirements.txt"])
def test_an_input_of_the_study_makes_every_chapter_stale(home: Path, name: str) -> None:
    touch(home / name)
    assert stale() == [path.stem for path in notebooks()]
    assert staleness.built(run(), "plain") is None


def test_another_engine_or_a_later_version_in_its_place_is_a_new_build(home: Path) -> None:
    assert staleness.built(run(), "quarto") is None
    (paths.site() / site.LATEST).unlink()
    (paths.site() / site.LATEST).symlink_to("other")
    assert staleness.built(run(), "plain") is None


def test_outputs_are_no_inputs(home: Path) -> None:
    (home / "data" / "work").mkdir()
    (home / "data" / "work" / "file").write_text("new", encoding="utf-8")
    (home / "report" / "_site").mkdir()
    assert stale() == []
    assert staleness.built(run(), "plain") is not None


def refuse() -> list[ClaimVerdict]:
    raise AssertionError("judged again")


def test_verdicts_are_judged_once_for_all_chapters_and_anew_when_rows_change(home: Path) -> None:
    first = judged_once(run(), lambda: judge_all(paths.raw(), RUN_ID))
    assert judged_once(run(), refuse) == first
    assert {verdict.id for verdict in first} >= {"M1", "H11", "R10"}
    next(run().glob("*.parquet")).touch()
    with pytest.raises(AssertionError, match="judged again"):
        judged_once(run(), refuse)
