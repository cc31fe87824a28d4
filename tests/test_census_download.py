"""The real census from the network: whole or absent, and believed for its digest alone."""

import errno
import hashlib
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pooch import HTTPDownloader

from hosting import Answer, Site, chunked, hosting, page, silence, whole
from tierwise.core import progress
from tierwise.core.errors import InputError
from tierwise.datasets import census, download
from tierwise.datasets.census.raw_file import MEMBER
from tierwise.datasets.download import RemoteFile, fetch

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # pooch leaves a broken connection to the collector

ROWS = 3_000


def zipped(seed: int, *, rows: int = ROWS, member: str = MEMBER) -> bytes:
    """Return an archive as the publisher's: the raw file, tab-separated and with a blank line at the end, beside others."""
    chance = np.random.default_rng(seed)
    drawn = {
        name: ["P"] * rows if kind == "text" else chance.integers(2 if kind == "boolean" else 99_999, size=rows)
        for name, kind in census.TYPES.items()
    }
    text = pl.DataFrame(drawn).write_csv(separator="\t", include_header=False) + "\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("USCensus1990.readme.txt", "read me"), (f"mld/{member}", text)):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


GOOD, CHANGED = zipped(1), zipped(2)
HALF = len(GOOD) // 2


def remote(site: Site, content: bytes = GOOD, rows: int = ROWS) -> RemoteFile:
    return RemoteFile(
        address=site.address,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        rows=rows,
        recorded="2026-01-02",  # type: ignore[arg-type]  # as the file has it
        source="this test",
        licence="none",
    )


def get(site: Site, folder: Path) -> bytes:
    return fetch(remote(site), folder / "census.zip", remedy="CENSUS=file:PATH").read_bytes()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "RETRIES", 1)


ENDS_WELL: list[tuple[str, tuple[Answer, ...], int]] = [
    ("at once", (whole(GOOD),), 1),
    ("after a break", (whole(GOOD, cut=HALF), whole(GOOD)), 2),
    ("in chunks of unknown length", (chunked(GOOD),), 1),
    ("in chunks, broken off", (chunked(GOOD, cut=HALF), whole(GOOD)), 2),
    ("busy at first", (page(429), whole(GOOD)), 2),
    ("out of order at first", (page(503), whole(GOOD)), 2),
]


@pytest.mark.parametrize(("answers", "requests"), [case[1:] for case in ENDS_WELL], ids=[case[0] for case in ENDS_WELL])
def test_it_comes_whole(tmp_path: Path, answers: tuple[Answer, ...], requests: int) -> None:
    with hosting(*answers) as site:
        assert get(site, tmp_path) == GOOD
        assert len(site.requests) == requests
    assert names(tmp_path) == {"census.zip"}


ENDS_BADLY: list[tuple[str, Answer, str, int]] = [
    ("another file", whole(CHANGED[: len(GOOD)].ljust(len(GOOD), b"\0")), r"sha256 is '[0-9a-f]{64}': [0-9a-f]{64} is needed", 1),
    ("a web page", page(), r"sha256 is '[0-9a-f]{64}': [0-9a-f]{64} is needed", 1),
    ("too large", whole(GOOD + b"more"), rf"size is 'longer': {len(GOOD)} bytes are needed", 1),
    ("not there", page(404), "the server answers 404", 1),
    ("out of order", page(500), "no whole file came: 500 Server Error", 2),
    ("always broken off", whole(GOOD, cut=HALF), "no whole file came: .*IncompleteRead", 2),
    ("silent", silence(GOOD[:HALF], for_s=2.0), "no whole file came: .*timed out", 2),
]


@pytest.mark.parametrize(("answer", "message", "requests"), [case[1:] for case in ENDS_BADLY], ids=[case[0] for case in ENDS_BADLY])
def test_a_file_that_cannot_be_fetched_is_an_error_of_one_line_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, message: str, requests: int
) -> None:
    monkeypatch.setattr(download, "SILENCE_S", 0.5)
    with hosting(answer) as site, pytest.raises(InputError, match=rf"{message}.*Remedy: CENSUS=file:PATH") as caught:
        get(site, tmp_path)
    assert site.address in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(site.requests) == requests
    assert names(tmp_path) == set()


def test_a_server_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    with hosting(whole(GOOD)) as site:
        pass
    with pytest.raises(
        InputError, match=rf"{re.escape(site.address)}.*refused.*Remedy: CENSUS=file:PATH"
    ):  # nobody listens on that port any more
        get(site, tmp_path)


def test_a_full_disk_is_the_machine_s_error_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(HTTPDownloader, "__call__", full)
    with hosting(whole(GOOD)) as site, pytest.raises(OSError, match="No space left"):
        get(site, tmp_path)
    assert names(tmp_path) == set()


def test_a_slow_server_gets_the_time_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "INTERVAL_S", 0.2)
    monkeypatch.setattr(download, "MIB", 1024)
    monkeypatch.delenv("TIERWISE_PROGRESS", raising=False)
    with hosting(whole(GOOD, pause_s=0.03)) as site:
        assert get(site, tmp_path) == GOOD
    assert "left" in capsys.readouterr().err


def test_a_whole_file_is_never_fetched_again_and_a_damaged_one_is(tmp_path: Path) -> None:
    with hosting(whole(GOOD)) as site:
        get(site, tmp_path)
        assert get(site, tmp_path) == GOOD
        assert len(site.requests) == 1
        (tmp_path / "census.zip").write_bytes(GOOD[:-1])
        assert get(site, tmp_path) == GOOD
        assert len(site.requests) == 2


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data" / "datasets").mkdir(parents=True)
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    return tmp_path


def record(home: Path, site: Site, content: bytes = GOOD, rows: int = ROWS) -> None:
    known = remote(site, content, rows).model_dump(mode="json")
    lines = (f"{name} = {value!r}" for name, value in known.items() if name != "recorded")
    (home / "data" / "datasets" / "census1990-raw.toml").write_text("\n".join([*lines, f"recorded = {known['recorded']}", ""]))


def test_the_census_is_read_from_the_archive_and_fetched_once(home: Path) -> None:
    with hosting(whole(GOOD)) as site:
        record(home, site)
        data = census.acquire("download", fraction=0.02, seed=7, folder=home / "made")
        again = census.acquire("download", fraction=1.0, seed=8, folder=home / "made")
        assert len(site.requests) == 1
    assert data == again
    assert data.rows == ROWS
    with zipfile.ZipFile(io.BytesIO(GOOD)) as archive:
        rows = archive.read(f"mld/{MEMBER}").decode().splitlines()
    place = list(census.TYPES).index("POB")
    assert pl.read_parquet(data.parquet)["POB"].to_list() == [int(row.split("\t")[place]) for row in rows if row]
    assert data.provenance["file_sha256"] == hashlib.sha256(GOOD).hexdigest()
    assert data.provenance["sha256_recorded"] == "2026-01-02: this test"


@pytest.mark.parametrize(
    ("content", "rows", "message"),
    [
        (GOOD, ROWS + 1, rf"us\+census\+data\+1990\.zip: rows is {ROWS}: {ROWS + 1} are needed.*CENSUS=file:PATH"),
        (
            zipped(1, member="other.txt"),
            ROWS,
            r"members is \['USCensus1990\.readme\.txt', 'mld/other\.txt'\]: an archive must hold USCensus1990raw",
        ),
        (b"PK\x03\x04" + bytes(500), ROWS, r"us\+census\+data\+1990\.zip: cannot be read: File is not a zip file"),
    ],
    ids=["of too few rows", "without the raw file", "no archive"],
)
def test_an_archive_of_other_content_gives_no_rows(home: Path, content: bytes, rows: int, message: str) -> None:
    with hosting(whole(content)) as site:
        record(home, site, content, rows)
        with pytest.raises(InputError, match=message):
            census.acquire("download", fraction=1, seed=1, folder=home / "made")
    assert not list((home / "made").glob("*.parquet"))


def test_an_archive_that_the_reader_has_is_a_file_like_any(tmp_path: Path) -> None:
    archive = tmp_path / "mine.zip"
    archive.write_bytes(GOOD)
    assert census.acquire(f"file:{archive}", fraction=1, seed=1, folder=tmp_path / "made").rows == ROWS


def test_a_flipped_byte_in_an_archive_is_noticed(tmp_path: Path) -> None:
    archive = tmp_path / "mine.zip"
    archive.write_bytes(GOOD[:HALF] + bytes([GOOD[HALF] ^ 1]) + GOOD[HALF + 1 :])
    with pytest.raises(InputError, match=r"mine\.zip"):
        census.acquire(f"file:{archive}", fraction=1, seed=1, folder=tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []
