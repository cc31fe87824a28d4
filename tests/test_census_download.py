"""The real census from the network: whole or absent, continued after every kind of break, and believed for its digest alone."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hosting import Answer, Site, chunked, hosting, page, silence, whole
from tierwise.core import paths, progress
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.toml import read_toml
from tierwise.datasets import census
from tierwise.datasets.census.raw_file import MEMBER
from tierwise.datasets.download import Patience, Remote, fetch

ROWS = 3_000
QUICK = Patience(silence_s=5.0, pauses_s=(0.0, 0.0))


def zipped(seed: int, *, rows: int = ROWS, member: str = MEMBER) -> bytes:
    """An archive as the publisher's: the raw file, tab-separated and with a blank line at the end, beside others."""
    chance = np.random.default_rng(seed)
    drawn = {
        column.name: ["P"] * rows if column.type == "text" else chance.integers(2 if column.type == "boolean" else 99_999, size=rows)
        for column in census.COLUMNS
    }
    text = pl.DataFrame(drawn).write_csv(separator="\t", include_header=False) + "\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("USCensus1990.readme.txt", "read me"), (f"mld/{member}", text)):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


GOOD, CHANGED = zipped(1), zipped(2)
HALF = len(GOOD) // 2


def remote(site: Site, content: bytes = GOOD, rows: int = ROWS) -> Remote:
    return Remote(
        address=site.address,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        rows=rows,
        recorded="2026-01-02",  # type: ignore[arg-type]  # as the file has it
        source="this test",
        licence="none",
    )


def get(site: Site, folder: Path, patience: Patience = QUICK) -> bytes:
    return fetch(remote(site), folder / "census.zip", remedy="CENSUS=file:PATH", patience=patience).read_bytes()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


ENDS_WELL: list[tuple[str, tuple[Answer, ...], int]] = [
    ("at once", (whole(GOOD),), 1),
    ("after one break", (whole(GOOD, cut=HALF), whole(GOOD)), 2),
    ("after many breaks", (*(whole(GOOD, cut=len(GOOD) // 10) for _ in range(9)), whole(GOOD)), 10),
    ("broken off before the first byte", (whole(GOOD, cut=0), whole(GOOD)), 2),
    ("without a tag", (whole(GOOD, tag=None, cut=HALF), whole(GOOD, tag=None)), 2),
    ("without ranges", (whole(GOOD, cut=HALF), whole(GOOD, ranges=False)), 2),
    ("in chunks of unknown length", (chunked(GOOD),), 1),
    ("in chunks, broken off", (chunked(GOOD, cut=HALF), whole(GOOD, tag=None)), 2),
    ("announced longer than it is", (whole(GOOD, announced=2 * len(GOOD)),), 1),
    ("announced shorter than it is", (whole(GOOD, announced=HALF), whole(GOOD)), 2),
    ("of no announced length", (whole(GOOD, announced=0),), 1),
    ("busy at first", (page(503), page(429), whole(GOOD)), 3),
    ("begun as another file", (whole(CHANGED, tag='"other"', cut=HALF), whole(GOOD)), 2),
    ("begun as another file, tags not heeded", (whole(CHANGED, tag='"other"', cut=HALF), whole(GOOD, heeds_tags=False), whole(GOOD)), 3),
    ("begun as another file, without tags", (whole(CHANGED, tag=None, cut=HALF), whole(GOOD, tag=None)), 3),
    ("begun as a longer file", (whole(CHANGED * 3, tag=None, cut=len(GOOD) - 1), whole(GOOD[:-9]), whole(GOOD)), 3),
]


@pytest.mark.parametrize(("answers", "requests"), [case[1:] for case in ENDS_WELL], ids=[case[0] for case in ENDS_WELL])
def test_it_comes_whole(tmp_path: Path, answers: tuple[Answer, ...], requests: int) -> None:
    with hosting(*answers) as site:
        assert get(site, tmp_path) == GOOD
        assert len(site.requests) == requests
    assert names(tmp_path) == {"census.zip"}


ENDS_BADLY: list[tuple[str, Answer, str]] = [
    (
        "another file",
        whole(CHANGED[: len(GOOD)].ljust(len(GOOD), b"\0")),
        r"sha256 is '[0-9a-f]{64}': [0-9a-f]{64} is needed \(recorded 2026-01-02\)",
    ),
    ("longer", whole(GOOD + b"more"), rf"size is 'longer': {len(GOOD)} bytes are needed"),
    ("a web page", page(), r"begin is '<!DOCTYPE html>.*: a zip archive is needed"),
    ("not there", page(404), r"the server answers 404"),
    ("forbidden", page(403), r"the server answers 403"),
    ("out of order", page(500), r"the server answers 500; 0 B of"),
    (
        "always broken off",
        whole(GOOD, cut=HALF, ranges=False),
        r"the server ends the file early; .* of .* are here, and the next attempt goes on from there",
    ),
    ("always shorter", whole(GOOD[:-1]), r"the server answers 416|ends the file early"),
    ("empty", whole(b""), r"ends the file early|416"),
]


@pytest.mark.parametrize(("answer", "message"), [case[1:] for case in ENDS_BADLY], ids=[case[0] for case in ENDS_BADLY])
def test_what_cannot_be_had_is_an_error_with_a_remedy_and_no_file(tmp_path: Path, answer: Answer, message: str) -> None:
    with hosting(answer) as site, pytest.raises(InputError, match=rf"{message}.*Remedy: CENSUS=file:PATH") as caught:
        get(site, tmp_path)
    assert site.address in str(caught.value)
    assert "census.zip" not in names(tmp_path)


def test_a_server_that_is_not_there_is_named_with_what_is_kept(tmp_path: Path) -> None:
    with hosting(whole(GOOD, cut=HALF), page(500)) as site, pytest.raises(InputError, match="500"):
        get(site, tmp_path)
    with pytest.raises(InputError, match=r"cannot be reached: .*refused; (?!0 B).* of .* are here"):  # nobody listens on that port any more
        get(site, tmp_path)


def test_a_server_that_falls_silent_is_given_up_and_what_it_sent_is_kept(tmp_path: Path) -> None:
    begun_s = time.monotonic()
    with hosting(silence(GOOD[:HALF], for_s=30.0), whole(GOOD)) as site:
        assert get(site, tmp_path, Patience(silence_s=0.5, pauses_s=(0.0,))) == GOOD
        assert site.requests[1]["Range"] == f"bytes={HALF}-"
    assert time.monotonic() - begun_s < 25.0


def test_a_slow_server_is_waited_for_with_the_time_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "INTERVAL_S", 0.2)
    monkeypatch.delenv("TIERWISE_PROGRESS", raising=False)
    with hosting(whole(GOOD, pause_s=0.03)) as site:
        assert get(site, tmp_path, Patience(silence_s=1.0, pauses_s=())) == GOOD
        assert len(site.requests) == 1
    assert "left" in capsys.readouterr().err


def test_a_rest_is_asked_for_by_range_and_tag(tmp_path: Path) -> None:
    with hosting(whole(GOOD, cut=HALF), whole(GOOD)) as site:
        get(site, tmp_path)
    first, second = site.requests
    assert "Range" not in first
    assert (second["Range"], second["If-Range"]) == (f"bytes={HALF}-", '"first"')


def test_a_rest_that_is_another_part_is_not_added(tmp_path: Path) -> None:
    def another_part(handler: object) -> None:
        handler.headers.replace_header("Range", "bytes=7-")  # type: ignore[attr-defined]
        whole(GOOD)(handler)  # type: ignore[arg-type]

    with hosting(whole(GOOD, cut=HALF), another_part, whole(GOOD)) as site:
        assert get(site, tmp_path) == GOOD


def test_a_killed_fetch_leaves_nothing_that_looks_whole_and_is_continued(tmp_path: Path) -> None:
    path, part = tmp_path / "census.zip", tmp_path / ".census.zip.part"
    with hosting(whole(GOOD, pause_s=0.2), whole(GOOD)) as site:
        fetching = (
            "import sys; from pathlib import Path; from tierwise.datasets.download import Remote, fetch;"
            "fetch(Remote.model_validate_json(sys.argv[1]), Path(sys.argv[2]), remedy='')"
        )
        command = [sys.executable, "-c", fetching, remote(site).model_dump_json(), str(path)]
        with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as fetcher:
            deadline_s = time.monotonic() + 60
            while not part.exists() or part.stat().st_size < 9:
                assert time.monotonic() < deadline_s
                time.sleep(0.02)
            with pytest.raises(TierwiseError, match=r"census\.zip: another process is fetching this file"):
                get(site, tmp_path)
            fetcher.send_signal(signal.SIGKILL)
        assert names(tmp_path) == {".census.zip.part", ".census.zip.part.json"}
        assert get(site, tmp_path) == GOOD
        assert int(site.requests[1]["Range"].removeprefix("bytes=").removesuffix("-")) >= 9


def test_what_was_begun_of_another_release_is_forgotten(tmp_path: Path) -> None:
    with hosting(whole(CHANGED, cut=HALF), page(404)) as site, pytest.raises(InputError):
        fetch(remote(site, CHANGED), tmp_path / "census.zip", remedy="", patience=QUICK)
    with hosting(whole(GOOD)) as site:
        assert get(site, tmp_path) == GOOD
        assert "Range" not in site.requests[0]


@pytest.mark.parametrize(
    ("damage", "requests"), [(Path.exists, 1), (lambda path: path.write_bytes(GOOD[:-1]), 2)], ids=["whole", "damaged"]
)
def test_a_whole_file_is_never_fetched_again_and_a_damaged_one_is(tmp_path: Path, damage: Callable[[Path], object], requests: int) -> None:
    with hosting(whole(GOOD)) as site:
        get(site, tmp_path)
        damage(tmp_path / "census.zip")
        assert get(site, tmp_path) == GOOD
        assert len(site.requests) == requests


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of the test's own, whose data name what `record` writes there."""
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
    place = [column.name for column in census.COLUMNS].index("POB")
    assert pl.read_parquet(data.parquet)["POB"].to_list() == [int(row.split("\t")[place]) for row in rows if row]
    assert data.provenance["file_sha256"] == hashlib.sha256(GOOD).hexdigest()
    assert data.provenance["sha256_recorded"] == "2026-01-02: this test"


def test_the_archive_may_go_once_it_was_read(home: Path) -> None:
    with hosting(whole(GOOD), page(404)) as site:
        record(home, site)
        data = census.acquire("download", fraction=1, seed=1, folder=home / "made")
        (home / "made" / "us+census+data+1990.zip").unlink()
        assert census.acquire("download", fraction=1, seed=1, folder=home / "made") == data


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


def test_the_recorded_archive_is_the_publishers_and_as_long_as_the_source_says() -> None:
    known = read_toml(paths.data() / "datasets" / "census1990-raw.toml", Remote)
    assert known.address.startswith("https://archive.ics.uci.edu/")
    assert known.rows == census.ROWS
