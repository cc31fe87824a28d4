"""The real catalog from a server that answers like the archive: a region by TAP, files of the release; both go on after a break."""

import gzip
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote_plus

import polars as pl
import pytest

from hosting import Answer, Site, hosting, page, whole
from support import shared
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.datasets import download, sky
from tierwise.datasets.sky import remote

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # pooch leaves a broken connection to the collector

REGION = "10,10.1,10,10.1"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "RETRIES", 1)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    return tmp_path


def pointed(home: Path, known: str, site: Site) -> None:
    base = site.address.rpartition("/")[0]
    folder = home / "data" / "datasets"
    folder.mkdir(exist_ok=True)
    text = re.sub(r"(?m)^tap = .*$", f'tap = "{base}/TAP"', known)
    (folder / "twomass-release.toml").write_text(re.sub(r"(?m)^files = .*$", f'files = "{base}/"', text))
    remote._release.cache_clear()


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
    names = remote.release().names
    assert [sum(name.startswith(half) for name in names) for half in ("psc_a", "psc_b")] == [57, 35]
    assert (names[0], names[56], names[57], names[-1]) == ("psc_aaa", "psc_ace", "psc_baa", "psc_bbi")
    assert remote.parse("psc") == names
    assert remote.parse("psc_bbi,psc_aab") == ["psc_aab", "psc_bbi"]


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
