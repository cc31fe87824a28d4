"""Files of other people: what `check-data` reads of them, what it says is wrong, and that a run refuses the same before it begins."""

import bz2
import gzip
import io
import json
import lzma
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from support import shared
from test_census_data import NAMES, good_rows, tab_separated
from tierwise.cli import app
from tierwise.core.errors import InputError
from tierwise.datasets import census, sky
from tierwise.datasets.checking import check, check_first_rows
from tierwise.datasets.dataset import sha256_of

COLUMNS = ("ra", "dec", "designation", "j_m", "err_ang")
ROWS: list[list[Any]] = [[10.684737, 41.269035, "00424433+4116085", 9.453, 87], [10.686015, 41.26963, "00424464+4116106", None, None]]


def checked(data_set: str, path: Path, code: int = 0) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["check-data", f"--{data_set}", f"file:{path}", "--format", "json"], catch_exceptions=False)
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


@pytest.mark.parametrize(
    ("name", "form", "columns", "nulls"),
    [
        ("gator.tbl", "IPAC table", 25, dict.fromkeys(("j_cmsig", "j_msigcom", "j_snr", "h_cmsig", "h_msigcom", "h_snr"), 1)),
        ("gator_null.vot", "VOTable", 7, {"err_ang": 1, "j_m": 1, "j_msigcom": 2, "nopt_mchs": 2}),
        ("vizier.vot", "VOTable", 4, {}),
        ("psc_blank_end.txt", "text of the release", 60, {"j_cmsig": 1, "ext_key": 2}),
        ("psc_small.bz2", "text of the release", 60, {"j_cmsig": 1, "ext_key": 2}),
        ("pandas_nan_float.parquet", "Parquet", 60, {"j_cmsig": 1, "ext_key": 2}),
    ],
)
def test_the_skies_of_others_are_read(name: str, form: str, columns: int, nulls: dict[str, int], tmp_path: Path) -> None:
    path = shared("cases", "sky", name)
    found = checked("sky", path)
    assert (found["format"], found["rows"], found["fault"]) == (form, 2, None)
    assert (len(found["columns"]), len(found["absent"])) == (columns, 60 - columns)
    assert nulls.items() <= found["nulls"].items()
    rows = pl.read_parquet(sky.acquire(f"file:{path}", fraction=1, seed=1, folder=tmp_path).parquet)
    assert rows.select(pl.col(pl.Float32, pl.Float64).is_nan().any()).row(0).count(True) == 0, "what is not a number is no value"
    assert {column: rows[column].null_count() for column in nulls} == nulls


def test_names_of_vizier_are_mapped() -> None:
    found = checked("sky", shared("cases", "sky", "vizier.vot"))
    assert found["columns"] == {"ra": "RAJ2000", "dec": "DEJ2000", "designation": "2MASS", "k_m": "Kmag"}
    real = checked("sky", shared("realdata", "twomass", "ism_course_2mass_II246.csv"))
    assert (real["format"], real["rows"], real["columns"]["ph_qual"]) == ("CSV", 11_904, "Qflg")


@pytest.mark.parametrize("name", ["mangled.csv", "lower.csv", "quoted.csv", "raw_gz_without_suffix.txt"])
def test_the_censuses_of_others_are_read(name: str) -> None:
    found = checked("census", shared("cases", "census", name))
    assert (found["rows"], found["fault"]) == (3, None)
    assert found["columns"].get("SEPT80") == {"mangled.csv": "Sep-80", "lower.csv": "sept80", "quoted.csv": "SEPT80"}.get(name)


@pytest.mark.parametrize("header", [True, False])
def test_the_prepared_census_is_recognised_and_the_raw_one_named(tmp_path: Path, header: bool) -> None:
    path = tmp_path / "census"
    path.write_text(",".join(["10000", *(["5"] * 68)]) + "\n")
    path = shared("cases", "census", "prepared.txt") if header else path
    assert "name the raw file, USCensus1990raw.data.txt" in checked("census", path, code=2)["fault"]


def zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("folder/rows", content)
    return packed.getvalue()


def zstd(content: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(content, asbytes=True)
    return packed


CSV = ("ra,dec,designation,j_m,err_ang\n" + "".join(",".join("" if v is None else str(v) for v in row) + "\n" for row in ROWS)).encode()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd, zipped])
@pytest.mark.parametrize("text", [CSV, b"\xef\xbb\xbf" + CSV.replace(b"\n", b"\r\n") + b"\r\n", CSV.decode().encode("utf-16")])
def test_both_data_sets_have_one_reader_of_bytes(tmp_path: Path, pack: Callable[[bytes], bytes], text: bytes) -> None:
    path = tmp_path / "mine"
    path.write_bytes(pack(text))
    found = check("sky", f"file:{path}")
    assert (found.format, found.rows, found.nulls, found.fault) == ("CSV", 2, {"j_m": 1, "err_ang": 1}, None)
    path.write_bytes(pack(tab_separated(good_rows(3)).encode("utf-16" if text.startswith(b"\xff\xfe") else "utf-8")))
    assert check("census", f"file:{path}").rows == 3


def as_parquet(path: Path) -> None:
    pl.DataFrame(ROWS, schema=COLUMNS, orient="row").with_columns(pl.col("err_ang").cast(pl.Float64).fill_null(float("nan"))).write_parquet(
        path
    )


def folder(path: Path) -> None:
    for part in ("Norder=1", "Norder=2"):
        (path / part).mkdir(parents=True)
        as_parquet(path / part / "rows.parquet")


def with_words(path: Path) -> None:
    rows = "".join(
        f"{ra};+{dec};{star}; {'NULL' if j is None else j} ;{'NaN' if e is None else float(e)}\n" for ra, dec, star, j, e in ROWS
    )
    path.write_text("# a comment\nRAJ2000;DEJ2000;_2MASS;Jmag;errPA\ndeg;deg;;mag;deg\n---;---;---;---;---\n" + rows)


def by_astropy(form: str, **options: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from astropy.table import Table

        table = Table(rows=[[-9 if value is None else value for value in row] for row in ROWS], names=COLUMNS, masked=True)
        for name in ("j_m", "err_ang"):
            table[name].mask = [False, True]
        table["err_ang"].fill_value = -9
        table.write(path, format=form, **options)

    return write


@pytest.mark.parametrize(
    ("form", "write"),
    [
        ("Parquet", as_parquet),
        ("Parquet", folder),
        ("text separated by ;", with_words),
        ("IPAC table", by_astropy("ascii.ipac")),
        ("VOTable", by_astropy("votable")),
        ("VOTable", by_astropy("votable", tabledata_format="binary2")),
        ("FITS", by_astropy("fits")),
        ("text that astropy reads", by_astropy("ascii.ecsv")),
    ],
)
def test_no_value_is_null_in_every_format_and_a_name_without_suffix_is_enough(
    tmp_path: Path, form: str, write: Callable[[Path], None]
) -> None:
    path = tmp_path / "mine"
    write(path)
    found = check("sky", f"file:{path}")
    times = 2 if write is folder else 1
    assert (found.format, found.rows, found.fault) == (form, 2 * times, None)
    assert found.nulls == {"j_m": times, "err_ang": times}
    assert sky.acquire(f"file:{path}", fraction=1, seed=1, folder=tmp_path / "made").rows == found.rows


@pytest.mark.parametrize("write", [as_parquet, by_astropy("fits")])
def test_binary_files_may_be_packed_too(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path / "plain")
    (tmp_path / "mine").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    assert check("sky", f"file:{tmp_path / 'mine'}").rows == 2


def test_a_folder_is_another_source_once_a_file_in_it_changes(tmp_path: Path) -> None:
    folder(tmp_path / "mine")
    before = sha256_of(tmp_path / "mine")
    as_parquet(tmp_path / "mine" / "other.parquet")
    assert sha256_of(tmp_path / "mine") != before


def test_flags_that_a_program_took_for_numbers_keep_their_zeros(tmp_path: Path) -> None:
    rows = {"ra": [1.0], "dec": [2.0], "designation": ["a"], "bl_flg": [11], "cc_flg": [0], "ndet": [60606.0]}
    pl.DataFrame(rows).write_parquet(tmp_path / "mine")
    data = sky.acquire(f"file:{tmp_path / 'mine'}", fraction=1, seed=1, folder=tmp_path / "made")
    assert pl.read_parquet(data.parquet).select("bl_flg", "cc_flg", "ndet").row(0) == ("011", "000", "060606")


@pytest.mark.parametrize("separator", [",", ", ", ";", "\t", "|"])
def test_a_census_may_have_any_separator_and_be_parquet(tmp_path: Path, separator: str) -> None:
    rows = good_rows(4)
    named = [f" {name.title()} " for name in NAMES]
    (tmp_path / "mine").write_text("".join(separator.join(row) + "\n" for row in [named, *rows]))
    text = census.acquire(f"file:{tmp_path / 'mine'}", fraction=1, seed=1, folder=tmp_path / "text")
    frame = pl.DataFrame(rows, schema=named, orient="row").with_columns(pl.exclude(" Rectype ", " Serialno ").cast(pl.Int64))
    frame.with_row_index("").write_parquet(tmp_path / "mine")
    stored = census.acquire(f"file:{tmp_path / 'mine'}", fraction=1, seed=1, folder=tmp_path / "stored")
    assert pl.read_parquet(text.parquet).equals(pl.read_parquet(stored.parquet))


GOOD = b"1.5,2.5,a,3,4\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (CSV + GOOD * 3 + b"x,2.5,a,3,4\n", "line 7: ra is 'x': not of type double"),
        (CSV + GOOD * 3 + b"1.5,2.5,a,3,4.5\n", "line 7: err_ang is '4.5': not of type int16"),
        (CSV + GOOD * 3 + b"1.5,2.5,,3,4\n", "line 7: designation: a value is needed"),
        (CSV + GOOD * 3 + b"1.5,2.5,a", "line 7: number of fields is 3: 5 fields are needed"),
        (CSV.replace(b"designation", b"name"), "the column designation is missing"),
        (b"\x1b]0;title\x07\xff\xfe binary \x80" * 9, "no catalog of a known format"),
        (b"", "no catalog|rows is 0"),
        (gzip.compress(CSV * 100, mtime=0)[:-9], "cannot be read: cut short or damaged"),
        (b"<?xml version='1.0'?><VOTABLE><RESOURCE><TABLE>", "cut short"),
    ],
)
def test_the_first_fault_is_named_by_its_line_and_nothing_binary_is_printed(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "mine"
    path.write_bytes(content)
    found = check("sky", f"file:{path}")
    with pytest.raises(InputError, match=said) as refused:
        sky.acquire(f"file:{path}", fraction=1, seed=1, folder=tmp_path / "made")
    assert found.fault == str(refused.value)
    assert found.fault.isprintable()
    assert list((tmp_path / "made").iterdir()) == []
    checked("sky", path, code=2)


def test_a_run_refuses_a_bad_first_row_before_it_begins_and_leaves_a_later_one_to_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_bytes(CSV + GOOD * 9_990 + b"x,2.5,a,3,4\n" + GOOD * 200_000)
    for command in (["plan"], ["run", "index_placement"], ["report"]):
        begun_s = time.process_time()
        done = CliRunner().invoke(app, [*command, "--sky", f"file:{path}"])
        assert isinstance(done.exception, InputError)
        assert "line 9994: ra is 'x'" in str(done.exception)
        assert time.process_time() - begun_s < 2
    path.write_bytes(CSV + GOOD * 300_000 + b"x,2.5,a,3,4\n")
    assert check_first_rows({"sky": f"file:{path}", "census": "synthetic"})["census"] == "synthetic"
    assert "line 300004: ra is 'x'" in str(check("sky", f"file:{path}").fault)


def test_a_command_line_without_one_file_is_refused() -> None:
    for options in ([], ["--sky", "file:a", "--census", "file:b"], ["--sky", "download"], ["--sky", "file:"]):
        assert isinstance(CliRunner().invoke(app, ["check-data", *options]).exception, InputError)
