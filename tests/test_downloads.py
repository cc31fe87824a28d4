"""The real census and catalog from the network: whole or absent, believed for their digests alone; after a break they go on."""

import errno
import gzip
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import numpy as np
import polars as pl
import pytest
from pooch import HTTPDownloader

from hosting import Answer, Site, chunked, hosting, page, silence, whole
from support import shared
from tierwise.core import paths, progress
from tierwise.core.errors import InputError
from tierwise.datasets import census, download, sky
from tierwise.datasets.census.raw_file import MEMBER
from tierwise.datasets.download import RemoteFile, fetch
from tierwise.datasets.sky import remote as release_files

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


REGION = "10,10.1,10,10.1"


def pointed(home: Path, known: str, site: Site) -> None:
    base = site.address.rpartition("/")[0]
    folder = home / "data" / "datasets"
    text = re.sub(r"(?m)^tap = .*$", f'tap = "{base}/TAP"', known)
    (folder / "twomass-release.toml").write_text(re.sub(r"(?m)^files = .*$", f'files = "{base}/"', text))
    release_files._release.cache_clear()


@pytest.fixture(scope="module")
def known() -> str:
    return (paths.data() / "datasets" / "twomass-release.toml").read_text(encoding="utf-8").replace("strip_deg = 0.25", "strip_deg = 0.025")


@pytest.fixture(scope="module")
def excerpt() -> str:
    return shared("realdata", "twomass", "irsa_fp_psc_polygon.xml").read_text(encoding="utf-8")


def rows_of(excerpt: str) -> list[str]:
    return re.findall(r"<TR>.*?</TR>\s*", excerpt, re.DOTALL)


def archive(excerpt: str, most: int = 100) -> Answer:
    """Answers a query by bounds with the rows of the excerpt that lie within, at most so many, and says so."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        bounds = re.search(r"dec >= ([\d.]+) AND dec < ([\d.]+)", unquote_plus(handler.path))
        assert bounds is not None
        low, high = float(bounds[1]), float(bounds[2])
        within = [row for row in rows_of(excerpt) if low <= float(re.findall(r"<TD>(.*?)</TD>", row)[1]) < high]
        status = "OVERFLOW" if len(within) > most else "OK"
        body = re.sub(r"<TABLEDATA>.*</TABLEDATA>", f"<TABLEDATA>{''.join(within[:most])}</TABLEDATA>", excerpt, flags=re.DOTALL)
        end = f'</TABLE><INFO name="QUERY_STATUS" value="{status}"/>' if status == "OVERFLOW" else "</TABLE>"
        send(handler, body.replace("</TABLE>", end).replace("<RESOURCE>", '<RESOURCE type="results">').encode())

    return answer


def send(handler: BaseHTTPRequestHandler, body: bytes, announced: int | None = None) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/x-votable+xml")
    handler.send_header("Content-Length", str(announced or len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def acquire(home: Path, wanted: str = REGION) -> pl.DataFrame:
    return pl.read_parquet(sky.acquire(f"download:{wanted}", fraction=1, seed=1, folder=home / "made").parquet)


def test_a_region_comes_in_strips_of_declination(home: Path, known: str, excerpt: str) -> None:
    with hosting(archive(excerpt)) as site:
        pointed(home, known, site)
        data = sky.acquire(f"download:{REGION}", fraction=1, seed=1, folder=home / "made")
        again = sky.acquire(f"download:{REGION}", fraction=0.5, seed=2, folder=home / "made")
        assert data == again
        queries = [unquote_plus(path) for path in site.paths]
    assert len(queries) == 4
    assert "SELECT * FROM fp_psc WHERE ra >= 10 AND ra < 10.1 AND dec >= 10.000000 AND dec < 10.025000 ORDER BY ra" in queries[0]
    rows = pl.read_parquet(data.parquet)
    assert sorted(rows["designation"]) == sorted(re.findall(r"\d{8}\+\d{7}", excerpt))
    assert rows["dec"].is_between(9.99, 10.11).all()
    assert data.provenance["licence"].startswith("2MASS")
    assert [path.suffix for path in sorted((home / "made").iterdir())] == [".json", ".parquet"]


def test_a_strip_of_too_many_rows_is_halved(home: Path, known: str, excerpt: str) -> None:
    with hosting(archive(excerpt, most=2)) as site:
        pointed(home, known, site)
        assert acquire(home).height == 7
        assert len(site.requests) > 4


def test_a_failing_service_is_queried_again_and_its_whole_strips_are_kept(home: Path, known: str, excerpt: str) -> None:
    good = archive(excerpt)

    def broken(handler: BaseHTTPRequestHandler) -> None:
        send(handler, excerpt.encode()[:3000], announced=len(excerpt))

    with hosting(good, page(503), good, broken, page(500), good) as site:
        pointed(home, known, site)
        with pytest.raises(InputError, match=r"no whole answer: .*500.*strips that are whole are kept.*SKY=file:PATH"):
            acquire(home)
        assert not list((home / "made").glob("sky-*"))
        before = len(site.requests)
        assert acquire(home).height == 7
        assert (before, len(site.requests) - before) == (5, 2), "two of four strips were there"


@contextmanager
def refusing(text: str) -> Iterator[Site]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = f'<VOTABLE version="1.3"><RESOURCE type="results"><INFO name="QUERY_STATUS" value="ERROR">{text}</INFO></RESOURCE></VOTABLE>'
        send(handler, body.encode())

    with hosting(answer) as site:
        yield site


def test_what_the_service_refuses_is_an_error_at_once(home: Path, known: str, excerpt: str) -> None:
    with refusing("no table fp_psc") as site:
        pointed(home, known, site)
        with pytest.raises(InputError, match=r"/TAP'?: the service refuses: no table fp_psc"):
            acquire(home)
        assert len(site.requests) == 1
    with hosting(page(404)) as site:
        pointed(home, known, site)
        with pytest.raises(InputError, match=r"the server answers 404"):
            acquire(home)
        assert len(site.requests) == 1


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("1,2,3", "four bounds in degrees"),
        ("psc_zzz", "names of the release's files"),
        ("20,10,1,2", "each lower bound must be below"),
        ("0,10,80,95", "dec_max_deg is 95.0"),
    ],
)
def test_a_region_that_is_none_is_refused(tmp_path: Path, wanted: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sky.acquire(f"download:{wanted}", fraction=1, seed=1, folder=tmp_path)


def test_the_release_has_57_files_of_the_south_and_35_of_the_north() -> None:
    names = release_files.release().names
    assert [sum(name.startswith(half) for name in names) for half in ("psc_a", "psc_b")] == [57, 35]
    assert (names[0], names[56], names[57], names[-1]) == ("psc_aaa", "psc_ace", "psc_baa", "psc_bbi")
    assert release_files.parse("psc") == names
    assert release_files.parse("psc_bbi,psc_aab") == ["psc_aab", "psc_bbi"]


@pytest.fixture(scope="module")
def release_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("sky")
    rows = pl.read_parquet(sky.acquire("synthetic", fraction=1e-5, seed=4, folder=folder).parquet)
    rows.write_csv(folder / "psc", separator="|", include_header=False, null_value="\\N")
    return gzip.compress((folder / "psc").read_bytes(), mtime=0)


def test_files_of_the_release_are_fetched_once(home: Path, known: str, release_file: bytes) -> None:
    with hosting(whole(release_file, cut=99), whole(release_file)) as site:
        pointed(home, known, site)
        data = sky.acquire("download:psc_aab", fraction=1, seed=1, folder=home / "made")
        assert site.paths == ["/static/psc_aab.gz"] * 2
        assert sky.acquire("download:psc_aab", fraction=1, seed=1, folder=home / "made") == data
        assert len(site.requests) == 2
    assert data.rows == 4710
    assert data.provenance["files_sha256"] == {"psc_aab.gz": hashlib.sha256(release_file).hexdigest()}


def test_a_file_whose_own_check_sum_is_wrong_is_refused(home: Path, known: str, release_file: bytes) -> None:
    damaged = release_file[:-8] + bytes(8)
    with hosting(whole(damaged)) as site:
        pointed(home, known, site)
        with pytest.raises(InputError, match=r"content is '(CRC check failed|Incorrect length).*: a whole gzip file is needed"):
            sky.acquire("download:psc_aab", fraction=1, seed=1, folder=home / "made")
    assert not list((home / "made").glob("*.gz"))


def test_a_file_whose_digest_is_known_is_held_to_it(home: Path, known: str, release_file: bytes) -> None:
    shorter = known.replace("size_bytes = 492_966_434", f"size_bytes = {len(release_file)}")
    with hosting(whole(release_file)) as site:
        pointed(home, shorter, site)
        with pytest.raises(InputError, match=r"psc_aaa\.gz: sha256 is '[0-9a-f]{64}': 0119aa14"):
            sky.acquire("download:psc_aaa", fraction=1, seed=1, folder=home / "made")
    ours = re.sub(r'sha256 = ".*"', f'sha256 = "{hashlib.sha256(release_file).hexdigest()}"', shorter)
    with hosting(whole(release_file)) as site:
        pointed(home, ours, site)
        with pytest.raises(InputError, match=r"rows is 4710: 5144500 are needed of psc_aaa"):
            acquire(home, "psc_aaa")
        pointed(home, ours.replace("5_144_500", "4710"), site)
        assert acquire(home, "psc_aaa").height == 4710
