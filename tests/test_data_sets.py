"""A data set is a package: what is known without loading it, when its file is made again, what a study used, what a run reports."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer

from report_run import rich_run
from tierwise.cli import app
from tierwise.core import data_sets, paths
from tierwise.core.errors import InputError
from tierwise.core.profiles import load_profile
from tierwise.datasets import census, sky, survey
from tierwise.datasets.dataset import Dataset, cached, sha256_of
from tierwise.datasets.pgbench import Bank
from tierwise.report.exhibit_registry import find
from tierwise.report.formats import DASH
from tierwise.report.run import Run, open_run
from tierwise.studies.pgbench_placement.measuring.grid import banks, grid
from tierwise.timings.manifest import DatasetRecord, Manifest

PACKAGES = ["census", "pgbench", "sky", "survey"]


def record(name: str = "census", rows: int = 100, sha256: str | None = "1" * 64, studies: tuple[str, ...] = ()) -> DatasetRecord:
    return DatasetRecord(name=name, rows=rows, sha256=sha256, provenance={"source": "synthetic"}, studies=studies)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return open_run(rich_run(tmp_path / "raw").name, tmp_path / "raw")


@pytest.mark.parametrize(
    ("acquire", "least", "fractions"),
    [
        (partial(census.acquire, "synthetic"), 0.001, (0.0009, 1.01)),
        (partial(sky.acquire, "synthetic"), 1e-5, (1e-6, 1.01)),
        (survey.acquire, 0.001, (0.0, 0.0001, 1.5)),
    ],
)
def test_a_fraction_out_of_range_is_refused(
    tmp_path: Path, acquire: Callable[..., object], least: float, fractions: Iterable[float]
) -> None:
    for fraction in (*fractions, float("nan")):
        with pytest.raises(InputError, match=rf"fraction is .*: from {least} to 1"):
            acquire(fraction=fraction, seed=1, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def with_records(run: Run, *records: DatasetRecord) -> Run:
    return replace(run, manifest=run.manifest.model_copy(update={"datasets": records}))


def test_packages_are_found_by_their_folders_and_each_is_acquired_by_its_notebook() -> None:
    assert data_sets.names() == PACKAGES
    notebooks = {path.stem for path in (paths.home() / "notebooks").glob("acquire-*.ipynb")}
    assert notebooks == {f"acquire-{name}" for name in PACKAGES}


def test_a_reader_may_choose_where_there_is_a_choice() -> None:
    assert data_sets.with_choice() == ["census", "sky"]
    command = typer.main.get_command(app)
    for name in ("report", "run", "plan"):
        options = {option.name: option for option in command.commands[name].params}  # type: ignore[attr-defined]
        assert {each: options[each].envvar for each in data_sets.with_choice()} == {"census": "CENSUS", "sky": "SKY"}


def test_what_is_not_the_default_is_kept_and_what_there_is_not_is_refused() -> None:
    assert data_sets.chosen({"census": "synthetic", "sky": "download"}) == {"sky": "download"}
    with pytest.raises(InputError, match=r"'stars': no such data set; there are: census, pgbench, sky, survey"):
        data_sets.chosen({"stars": "synthetic"})
    with pytest.raises(InputError, match=r"survey is 'download': .*only one source"):
        data_sets.chosen({"survey": "download"})


def test_the_published_number_of_rows_is_known_without_loading_what_makes_them() -> None:
    program = "import sys; import tierwise.report.run; from tierwise.core.data_sets import published_rows as rows;" + (
        "print(rows('census'), rows('sky'), rows('survey Detection'), rows('of a study that is gone'));"
        "print([name for name in sys.modules if name.startswith(('tierwise.datasets', 'tierwise.postgres'))])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["2458285 470992970 None None", "[]"]


@pytest.mark.parametrize(("profile", "rows"), [("smoke", 400_000), ("quick", 400_000), ("full", 1_200_000)])
def test_pgbenchs_banks_keep_the_published_branches_and_the_small_one_a_tenth_of_the_accounts(profile: str, rows: int) -> None:
    config = grid(load_profile(profile))
    assert config.bank("large") == Bank("large", 3000, rows)
    assert config.bank("small") == Bank("small", 300, rows // 10)


def test_pgbenchs_banks_are_a_data_set_of_the_run_by_branches_and_rows() -> None:
    small, large = banks(load_profile("full"))
    assert (small.name, large.name) == ("pgbench small", "pgbench large")
    kept = DatasetRecord(name=large.name, rows=large.rows, sha256=large.sha256, provenance=large.provenance)
    assert kept.provenance["source"] == "pgbench"
    assert kept.provenance["branches"] == large.branches


def test_parts_that_two_studies_use_stand_side_by_side_and_one_that_both_use_stands_once(run: Run) -> None:
    before = run.manifest.model_copy(update={"datasets": (record(studies=("one",)), record("sky", 7, "2" * 64, ("one",)))})
    after = Manifest.model_validate(
        before.model_dump() | {"datasets": before.with_data([record(studies=("two",)), record("sky", 9, "3" * 64, ("two",))])}
    )
    assert [(data.name, data.rows, data.studies) for data in after.datasets] == [
        ("census", 100, ("one", "two")),
        ("sky", 7, ("one",)),
        ("sky", 9, ("two",)),
    ]
    assert [after.data("sky", study) for study in ("one", "two", "three")] == [after.datasets[1], after.datasets[2], None]


def test_the_provenance_names_every_data_set_with_source_rows_and_digest(run: Run) -> None:
    bank = Bank("large", 3000, 3_000_000)
    recorded = with_records(
        run,
        record(rows=245_828, studies=("index_placement",)),
        DatasetRecord(name=bank.name, rows=bank.rows, sha256=None, provenance=bank.provenance, studies=("pgbench_placement",)),
    )
    table = find("tbl-data")
    assert table.module.tabulate(table.rows(recorded, "").frame).rows == [
        ["census", "`synthetic`", "245,828", "10.0\xa0%", f"`{'1' * 16}`", "`index_placement`"],
        ["pgbench large", "`pgbench`", "3,000,000", DASH, DASH, "`pgbench_placement`"],
    ]
    assert table.rows(with_records(run), "").frame.is_empty()


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


def test_a_whole_file_of_the_same_request_is_used_again_and_another_request_makes_it_anew(builder: Builder) -> None:
    data = builder.acquire()
    assert (data.name, data.rows, data.sha256) == ("numbers", 100, sha256_of(builder.parquet))
    assert data.provenance.items() >= {("seed", 1), ("what", "the numbers below a hundred")}
    assert (builder.acquire(), builder.built) == (data, 1)
    assert (builder.acquire(seed=2).provenance["seed"], builder.built) == (2, 2)


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
    line = "\t".join(row[kind] for kind in census.TYPES.values())
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
