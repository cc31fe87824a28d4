"""What a text leaves open, and what stretched seeks and read-ahead are worth: from the smoke run of the tests and made-up points."""

from collections.abc import Iterator

import polars as pl
import pytest

from kept_smoke import RAW
from tierwise.advisor.seeks import ahead_bounds, reading_ahead, seek_bounds
from tierwise.analysis.causes import Cause
from tierwise.analysis.claims import Bounds
from tierwise.analysis.left_open import OpenMap, points_of
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import geometric_estimate
from tierwise.core.units import MIB
from tierwise.core.vocabulary import Evidence
from tierwise.devices.spec import ArraySpec, HddSpec, load_device
from tierwise.pipeline import runs_in
from tierwise.report.run import Run, open_run

BOUNDS = Bounds(lower=1.4, upper=1.5)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with runs_in(RAW):
        yield open_run()


@pytest.fixture(scope="module")
def bounds(run: Run) -> pl.DataFrame:
    found = seek_bounds(run.connection, run.folder)
    return found.with_columns(part=1 - pl.col("as_they_lie_s") / pl.col("stretched_s"))


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


def test_the_share_lies_between_what_agrees_for_certain_and_what_may() -> None:
    found = mapped(1.45, 1.499, 2.0, 3.0)
    assert found.share == (0.25, 0.5)
    assert found.agreement == "1 to 2 of 4 simulated settings agree (clients)"
    assert found.against(Bounds(lower=1.0)).share == (1.0, 1.0)


def test_seeks_as_the_files_lie_never_take_longer_and_flash_has_none(run: Run, bounds: pl.DataFrame) -> None:
    assert bounds.height > 0
    assert (bounds["stretch"] > 1).all()
    assert (bounds["part"] >= -0.01).all(), "but for where the platters stand"
    flash = bounds.filter(pl.col("cell").str.json_path_match("$.tier").is_in(["ssd", "ssd_raid5"]))
    assert not flash.is_empty()
    assert (flash["part"] == 0).all()
    assert (bounds["part"] > 0.1).any()


def test_disks_that_read_less_far_ahead_take_longer_for_a_scan_and_flash_as_long(run: Run) -> None:
    found = ahead_bounds(run.connection, run.folder)
    reach = found.with_columns((pl.col(f"{end}_s") / pl.col("as_assumed_s")).alias(end) for end in ("least", "most"))
    word = pl.col("cell").str.json_path_match
    flash = reach.filter(word("$.tier").is_in(["ssd", "ssd_raid5"]))
    assert not flash.is_empty()
    assert (flash["least"] == 1).all()
    assert (flash["most"] == 1).all()
    scans = reach.filter(word("$.query") == "non_indexed", word("$.tier") == "hdd")
    assert (scans["least"] > 1).all()
    assert (scans["most"] <= 1).all()


@pytest.mark.parametrize("name", ["sas-10k", "sas-10k-raid10", "crucial-h", "aws-gp3"])
def test_only_disks_read_as_far_ahead_as_they_are_reported(name: str) -> None:
    spec = load_device(name)
    altered = reading_ahead(spec, 8 * MIB)
    member = altered.member if isinstance(altered, ArraySpec) else altered
    if isinstance(member, HddSpec):
        assert member.read_ahead.base == 8 * MIB == member.cache.base / member.segments.base
    else:
        assert altered == spec
