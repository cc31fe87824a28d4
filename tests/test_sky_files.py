"""A catalog of the reader's: the release's text, VOTable, FITS and Parquet give the same rows, and a fault is named."""

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from support import shared
from tierwise.core.errors import InputError
from tierwise.datasets import sky

EXCERPT = ("realdata", "twomass", "irsa_fp_psc_polygon.xml")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return pl.read_parquet(sky.acquire("synthetic", fraction=1e-5, seed=2, folder=tmp_path_factory.mktemp("sky")).parquet)


def text(rows: pl.DataFrame, path: Path) -> None:
    """Write rows as the release does: no header, names filled up to 17 characters."""
    rows.with_columns(pl.col("designation").str.pad_end(17)).write_csv(path, separator="|", include_header=False, null_value="\\N")


def packed(rows: pl.DataFrame, path: Path) -> None:
    text(rows, path.with_suffix(".txt"))
    path.write_bytes(gzip.compress(path.with_suffix(".txt").read_bytes()))


def by_astropy(rows: pl.DataFrame, path: Path) -> None:
    import numpy as np
    from astropy.table import MaskedColumn, Table

    table = Table()
    for column in rows.with_columns(pl.col("date").cast(pl.String)):
        values = column.fill_null("" if column.dtype == pl.String else 0).to_numpy()
        table[column.name] = MaskedColumn(values.astype(str) if column.dtype == pl.String else values, mask=column.is_null().to_numpy())
        if values.dtype.kind == "i":
            table[column.name].fill_value = np.iinfo(values.dtype).min
    table.write(path, format="votable" if path.suffix == ".vot" else "fits")


def release_names(rows: pl.DataFrame, path: Path) -> None:
    rows.rename({"dec": "decl"}).write_parquet(path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("psc_xyz", text), ("psc_xyz.gz", packed), ("mine.vot", by_astropy), ("mine.fits", by_astropy), ("mine.parquet", release_names)],
    ids=["text", "packed text", "VOTable", "FITS", "Parquet"],
)
def test_every_format_gives_the_same_rows(
    tmp_path: Path, rows: pl.DataFrame, name: str, write: Callable[[pl.DataFrame, Path], None]
) -> None:
    if write is by_astropy:
        rows = rows.head(300)  # it writes and reads VOTables slowly
    write(rows, tmp_path / name)
    data = sky.acquire(f"file:{tmp_path / name}", fraction=1, seed=1, folder=tmp_path / "made")
    assert_frame_equal(pl.read_parquet(data.parquet), rows)
    assert (data.rows, data.provenance["absent_columns"], data.provenance["source"]) == (rows.height, [], f"file:{name}")


def test_a_real_answer_of_the_archive_is_read(tmp_path: Path) -> None:
    data = sky.acquire(f"file:{shared(*EXCERPT)}", fraction=1, seed=1, folder=tmp_path)
    rows = pl.read_parquet(data.parquet)
    assert rows.columns == sky.PSC.columns
    assert rows["designation"].to_list()[:2] == ["00400376+1005572", "00400744+1003470"]
    assert rows.select("j_m", "h_m", "k_m").row(0) == pytest.approx((15.237, 14.635, 14.481))
    assert rows.select("ph_qual", "ndet", "hemis", "scan").row(1) == ("BBC", "060606", "n", 64)
    assert rows["date"].cast(pl.String).unique().to_list() == ["2000-09-21"]
    assert rows["dist_opt"].null_count() == 2, "two of the seven have no optical counterpart"
    assert rows["pts_key"].to_list() == list(range(1, 8)), "the answer has no keys: its rows are counted"
    assert {"pts_key", "prox", "k_psfchi"} <= set(data.provenance["absent_columns"])


def test_a_file_without_positions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Orion_A_2mass\.fits: columns is \['Jmag', .*: the column ra is missing"):
        sky.acquire(f"file:{shared('realdata', 'twomass', 'Orion_A_2mass.fits')}", fraction=1, seed=1, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


BROKEN: list[tuple[str, str, str, str]] = [
    ("a field too few", "|\\N|", "|", r" line 3: number of fields is 59: 60 fields are needed"),
    ("no number", "|0|0|", "|0|zero|", r" line 3: .* is 'zero': not of type"),
    ("no position", "", "\\N|", r" line 3: ra: a value is needed"),
]


@pytest.mark.parametrize(("old", "new", "message"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_malformed_row_is_named_and_leaves_no_file(tmp_path: Path, rows: pl.DataFrame, old: str, new: str, message: str) -> None:
    path = tmp_path / "psc_xyz"
    text(rows.head(5), path)
    lines = path.read_text().splitlines()
    lines[2] = lines[2].replace(old, new, 1) if old else new + lines[2].split("|", 1)[1]
    path.write_text("\n".join([*lines, ""]))
    with pytest.raises(InputError, match=rf"psc_xyz.*{message}"):
        sky.acquire(f"file:{path}", fraction=1, seed=1, folder=tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "write"), [("psc_xyz.gz", packed), ("mine.vot", by_astropy), ("mine.fits", by_astropy), ("mine.parquet", release_names)]
)
@pytest.mark.parametrize("left", [0.0, 0.5])
def test_a_file_that_is_cut_off_is_refused(
    tmp_path: Path, rows: pl.DataFrame, name: str, write: Callable[[pl.DataFrame, Path], None], left: float
) -> None:
    path = tmp_path / name
    write(rows.head(300), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: round(len(whole) * left)])
    with pytest.raises(InputError, match=rf"{name}"):
        sky.acquire(f"file:{path}", fraction=1, seed=1, folder=tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []
