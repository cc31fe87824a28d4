"""The verdicts are judged once for all chapters of a build, and anew when anything changes that they rest on."""

from pathlib import Path

import pytest

from report_run import RUN_ID, rich_run
from tierwise.analysis.judging import ClaimVerdict
from tierwise.core import paths
from tierwise.report.study_registry import judge_all, judged_once


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERWISE_RAW", str(tmp_path / "raw"))
    monkeypatch.setenv("TIERWISE_SITE", str(tmp_path / "_site"))
    rich_run(tmp_path / "raw")
    return paths.raw() / RUN_ID


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[ClaimVerdict]:
    raw = tmp_path_factory.mktemp("judged") / "raw"
    rich_run(raw)
    return judge_all(raw, RUN_ID)


def refuse() -> list[ClaimVerdict]:
    raise AssertionError("judged again")


def test_a_second_chapter_reads_what_the_first_one_judged(run: Path, verdicts: list[ClaimVerdict]) -> None:
    first = judged_once(run, lambda: verdicts)
    assert judged_once(run, refuse) == first
    assert {verdict.id for verdict in first} >= {"M1", "H11", "R10"}


def test_rows_that_changed_are_judged_anew(run: Path, verdicts: list[ClaimVerdict]) -> None:
    judged_once(run, lambda: verdicts)
    next(run.glob("*.parquet")).touch()
    with pytest.raises(AssertionError, match="judged again"):
        judged_once(run, refuse)
