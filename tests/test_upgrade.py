"""A run of 0.1.0, read by the version of now: listed, judged and held against the reference run, and left as it is.

`old_run` is what the census study has in the run that shipped with 0.1.0: rows of version 2, which were waited for.
"""

import shutil
from pathlib import Path

import pytest

from tierwise.analysis.rules import Verdict
from tierwise.analysis.runs import newest_run
from tierwise.bench.loop import gather_inputs
from tierwise.bench.runs import begin_run
from tierwise.core import completion
from tierwise.core.errors import InputError
from tierwise.report.reference import UNNOTED, compare
from tierwise.report.rooms import judge_all
from tierwise.report.run import open_run
from tierwise.timings.merging import merge_runs
from tierwise.timings.parts import read_rows

KEPT = Path(__file__).parent / "old_run"
RUN = "20261120-222007-smoke-a9dcaf"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the `data/raw` of somebody who used 0.1.0."""
    folder = tmp_path / "raw"
    shutil.copytree(KEPT, folder)
    monkeypatch.setenv("TIERWISE_RAW", str(folder))
    return folder


def test_it_is_listed_and_the_newest(raw: Path) -> None:
    assert RUN in completion.runs()
    assert newest_run(raw) == RUN


def test_its_rows_are_read_as_they_are(raw: Path) -> None:
    rows = read_rows(raw / RUN)
    assert (rows["schema_version"].unique().to_list(), len(rows)) == ([2], 210)
    assert open_run(RUN).manifest.status == "complete"


def test_it_is_judged_by_the_rules_of_now(raw: Path) -> None:
    verdicts = {verdict.id: verdict.verdict for verdict in judge_all(raw, RUN)}
    assert verdicts["M1"] is Verdict.CONTRADICTED
    assert verdicts["V1"] is Verdict.NOT_MEASURED


def test_beside_the_reference_run_it_says_what_is_not_comparable(raw: Path) -> None:
    beside = compare(RUN)
    assert UNNOTED in beside.caution
    assert "waited for" in beside.as_text()
    assert len(beside.cells) > 0


def test_it_is_not_merged_with_runs_of_now(raw: Path) -> None:
    with pytest.raises(InputError, match="kept no fingerprints"):
        merge_runs([raw / RUN, raw / RUN], raw)


def test_a_new_run_of_the_same_inputs_takes_none_of_its_rows_and_leaves_it_as_it_is(raw: Path) -> None:
    new = begin_run(gather_inputs(profile="smoke", tiers="", seed=1), fresh=False)
    assert new.run_id != RUN
    assert not new.taken
    assert contents(raw / RUN) == contents(KEPT / RUN)
