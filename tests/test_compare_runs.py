"""Two runs of the same inputs held against each other: what may not differ is told where it does, a running load is judged by nothing."""

import runpy
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from rows import make_rows, save_run
from tierwise.core import paths
from tierwise.timings.traces import TraceKey
from tierwise.timings.transactions import write_transactions
from zipf_run import zipf_run

compare: Callable[[Path, Path], int] = runpy.run_path(str(paths.home() / "scripts" / "compare_runs.py"))["compare"]
EARLIER, LATER = "20260102-030405-earlier", "20260102-030405-later"


def run_of(raw: Path, run_id: str, changed: pl.Expr | None = None) -> Path:
    rows = make_rows(run_id=run_id, blocks=1, seed=0 if run_id == EARLIER else 1)
    return save_run(raw, rows if changed is None else rows.with_columns(changed))


def one_block_more(field: str) -> pl.Expr:
    """The first relation of every first step has one more of them."""
    first = pl.col("relation_io").list.first()
    more = first.struct.with_fields(pl.field(field) + 1)
    rest = pl.col("relation_io").list.slice(1)
    return pl.when(pl.col("sequence") == 0, pl.col("step") == 0).then(pl.concat_list(more, rest)).otherwise(pl.col("relation_io"))


def test_times_of_a_server_may_differ_and_blocks_may_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(run_of(tmp_path, EARLIER), run_of(tmp_path, LATER)) == 0
    assert "0 differ" in capsys.readouterr().out
    assert compare(tmp_path / EARLIER, run_of(tmp_path / "hits", LATER, one_block_more("hits"))) == 0
    assert compare(tmp_path / EARLIER, run_of(tmp_path / "reads", LATER, one_block_more("reads"))) == 1
    assert ".reads is " in capsys.readouterr().out


def test_a_row_that_one_of_them_lacks_is_a_difference(tmp_path: Path) -> None:
    run_of(tmp_path, EARLIER)
    fewer = make_rows(run_id=LATER, blocks=1).filter(~((pl.col("sequence") == 0) & (pl.col("step") == 0)))
    assert compare(tmp_path / EARLIER, save_run(tmp_path, fewer)) > 0


def test_a_running_load_is_told_and_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [run_of(tmp_path, EARLIER), run_of(tmp_path, LATER, one_block_more("reads"))]
    now_s = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
    load = pl.DataFrame({"client": [0], "ended_s": [now_s], "latency_s": [0.1]}, schema_overrides={"client": pl.Int32})
    write_transactions(folders[0], TraceKey("index_placement", "source-m", "t"), 0, load)
    assert compare(*folders) == 0
    assert "not judged" in capsys.readouterr().out


@pytest.mark.soak
def test_of_models_alone_every_number_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (tmp_path / name / zipf_run(tmp_path / name, monkeypatch, blocks=1) for name in ("first", "second"))
    assert compare(first, second) == 0
    (file,) = second.glob("timings.parquet")
    rows = pl.read_parquet(file, hive_partitioning=False)
    rows.with_columns(
        elapsed_s=pl.when(pl.int_range(pl.len()) == 7).then(pl.col("elapsed_s") * (1 + 1e-15)).otherwise("elapsed_s")
    ).write_parquet(file)
    assert compare(first, second) == 1
