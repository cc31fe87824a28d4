"""A dataset is made once, and again when what lies there is damaged, half written or another request's."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tierwise.datasets import census, sky, survey
from tierwise.datasets.dataset import Dataset, cached, sha256_of


class Builder:
    def __init__(self, folder: Path):
        self.built = 0
        self.parquet = folder / "numbers.parquet"

    def build(self, part: Path) -> dict[str, Any]:
        self.built += 1
        pl.DataFrame({"n": range(100)}).write_parquet(part)
        return {"what": "the numbers below a hundred"}

    def acquire(self, seed: int = 1) -> Dataset:
        return cached("numbers", self.parquet, {"seed": seed}, self.build)


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(tmp_path)


def test_a_whole_file_of_the_same_request_is_used_again(builder: Builder) -> None:
    assert builder.acquire() == builder.acquire()
    assert builder.built == 1


def test_the_dataset_says_what_it_is(builder: Builder) -> None:
    data = builder.acquire()
    assert (data.name, data.rows, data.sha256) == ("numbers", 100, sha256_of(builder.parquet))
    assert data.provenance["seed"] == 1
    assert data.provenance["what"] == "the numbers below a hundred"


def test_another_request_makes_the_file_anew(builder: Builder) -> None:
    builder.acquire(seed=1)
    assert builder.acquire(seed=2).provenance["seed"] == 2
    assert builder.built == 2


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda parquet: parquet.write_bytes(parquet.read_bytes()[:-1]), id="half a file"),
        pytest.param(lambda parquet: parquet.write_bytes(b"\0" + parquet.read_bytes()[1:]), id="a flipped byte"),
        pytest.param(lambda parquet: parquet.unlink(), id="no file"),
        pytest.param(lambda parquet: parquet.with_suffix(".json").unlink(), id="no sidecar"),
        pytest.param(lambda parquet: parquet.with_suffix(".json").write_text("{"), id="half a sidecar"),
        pytest.param(lambda parquet: parquet.with_suffix(".json").write_text("[]"), id="another sidecar"),
    ],
)
def test_what_is_damaged_is_made_anew(builder: Builder, damage: Any) -> None:
    whole = builder.acquire()
    damage(builder.parquet)
    assert builder.acquire() == whole
    assert builder.built == 2
    assert pl.read_parquet(builder.parquet).height == 100


def test_a_failing_build_leaves_nothing(tmp_path: Path) -> None:
    def build(part: Path) -> dict[str, Any]:
        part.write_bytes(b"half")
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="full"):
        cached("numbers", tmp_path / "numbers.parquet", {}, build)
    assert list(tmp_path.iterdir()) == []


def test_a_changed_source_file_is_read_again(tmp_path: Path) -> None:
    source = tmp_path / "rows.txt"
    row = {"boolean": "0", "integer": "5", "text": "P"}
    line = "\t".join(row[column.type] for column in census.COLUMNS)
    for rows in (2, 3):
        source.write_text(f"{line}\n" * rows)
        assert census.acquire(f"file:{source}", fraction=1, seed=1, folder=tmp_path / "made").rows == rows
    assert census.acquire(f"file:{source}", fraction=1, seed=1, folder=tmp_path / "made").provenance["source"] == "file:rows.txt"


def generated(seed: int, folder: Path) -> list[str]:
    sets = [census.acquire("synthetic", fraction=0.002, seed=seed, folder=folder)]
    sets += [sky.acquire("synthetic", fraction=1e-4, seed=seed, folder=folder)]
    sets += survey.acquire(fraction=0.001, seed=seed, folder=folder).values()
    return [sha256_of(data.parquet) for data in sets]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_rows(tmp_path: Path) -> None:
    one, again, other = (generated(seed, tmp_path / name) for name, seed in (("one", 7), ("again", 7), ("other", 8)))
    assert one == again
    assert not set(one) & set(other)
