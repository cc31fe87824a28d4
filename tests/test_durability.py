"""What is kept outlives a power cut, wherever it comes, on a mount that drops what was not flushed; locks and mappings may be missing."""

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from emulation import need_fuse
from fault_injection import NO_LOCKS, NO_MAPPINGS, POWER_CUT, FaultyDaemon
from rows import make_manifest, make_rows
from tierwise.bench import workspace
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.files import lock, put, scratch_folder, write_whole
from tierwise.core.vocabulary import IoMode
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import SETTINGS_FILE
from tierwise.postgres.processes import PID_FILE
from tierwise.postgres.settings import loading_settings, measuring_settings
from tierwise.tiers.mounting import mounts_below, unmount
from tierwise.timings.parts import done_parts, merge_parts, read_rows, write_part


@contextmanager
def faulty(work: Path, *faults: str) -> Iterator[tuple[Path, FaultyDaemon]]:
    need_fuse()
    backing, mountpoint = work / "backing", work / "mount"
    for folder in (work, backing, mountpoint):
        folder.mkdir(exist_ok=True)
    daemon = FaultyDaemon(work, *faults)
    daemon.mount_faulty(backing, mountpoint)
    try:
        yield mountpoint, daemon
    finally:
        if mounts_below(mountpoint):
            unmount(mountpoint, lazily=True)
        daemon.end()


def cuts(work: Path, do: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return what a power cut would leave before each call that flushes, renames or removes while `do` is done, and at the end."""
    left: list[Path] = []
    with faulty(work, POWER_CUT) as (mountpoint, daemon), monkeypatch.context() as patch:

        def cut() -> None:
            left.append(work / f"left-{len(left)}")
            daemon.cut_power(left[-1])

        def before(real: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object, **named: object) -> object:
                cut()
                return real(*arguments, **named)

            return call

        for name in ("fsync", "rename", "replace", "unlink", "rmdir"):
            patch.setattr(os, name, before(getattr(os, name)))
        do(mountpoint)
        cut()
    return left


def flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def test_what_was_not_flushed_is_gone_after_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instrument itself: content without a name, a name without content, and a name that another one had."""

    def do(mount: Path) -> None:
        (mount / "whole").write_text("old")
        (mount / "empty").write_text("content")
        flush(mount / "whole")
        flush(mount)
        (mount / "half").write_text("no name")
        flush(mount / "half")
        (mount / "new").write_text("new")
        (mount / "new").rename(mount / "whole")

    left = cuts(tmp_path / "a", do, monkeypatch)[-1]
    assert {path.name: path.read_text() for path in left.iterdir()} == {"whole": "old", "empty": ""}


def test_a_file_is_the_old_or_the_new_one_whenever_the_power_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def do(mount: Path) -> None:
        write_whole(mount / "below" / "deep" / "file", "old")
        write_whole(mount / "below" / "deep" / "file", "new")

    files = [left / "below" / "deep" / "file" for left in cuts(tmp_path / "cut", do, monkeypatch)]
    seen = [file.read_text() if file.exists() else None for file in files]
    assert set(seen) == {None, "old", "new"}
    assert seen == sorted(seen, key=[None, "old", "new"].index), "once it is there it stays"
    assert seen[-1] == "new"


def test_a_folder_is_put_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is put in its place as a built site is."""

    def do(mount: Path) -> None:
        with scratch_folder("build-", within=mount) as build:
            (build / "site" / "pages").mkdir(parents=True)
            (build / "site" / "index.html").write_text("page")
            (build / "site" / "pages" / "other.html").write_text("page")
            put(build / "site", mount / "version")
        write_whole(mount / "built", "version")

    for left in cuts(tmp_path / "cut", do, monkeypatch):
        there = {str(path.relative_to(left / "version")): path.read_text() for path in (left / "version").rglob("*.html")}
        assert there in ({}, {"index.html": "page", "pages/other.html": "page"})
        assert there or not (left / "built").exists(), "nothing speaks of it before it is there"
    assert (left / "built").exists()


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return make_rows(run_id="run")


def test_no_row_is_lost_and_none_is_there_twice_whenever_the_power_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: pl.DataFrame
) -> None:
    """Parts are written and merged; after the cut what is missing is measured again, and the same rows are there."""
    trials = rows.partition_by("trial", "replicate", maintain_order=True)[:3]
    expected = pl.concat(trials).sort("study", "pair", "sequence", "step")

    def measure(raw: Path) -> None:
        done = done_parts(raw / "run")
        for part in trials:
            key = part.select("study", "pair", "trial", "replicate").row(0)
            if key not in done:
                write_part(raw / "run", part)
        merge_parts(raw / "run")
        make_manifest(expected).save(raw / "run")

    acknowledged = 0
    for left in cuts(tmp_path / "cut", measure, monkeypatch):
        found = len(done_parts(left / "run"))
        assert found >= acknowledged, "what was on disk once stays"
        acknowledged = found
        if (left / "run" / "manifest.json").exists():
            assert read_rows(left / "run").equals(expected), "a manifest speaks of rows that are there"
        measure(left)
        assert read_rows(left / "run").equals(expected)
        assert sorted(path.name for path in (left / "run").rglob("*")) == ["manifest.json", "timings.parquet"]
    assert acknowledged == len(trials)


def test_without_locks_and_shared_mappings_rows_are_kept_and_read(tmp_path: Path, rows: pl.DataFrame) -> None:
    with faulty(tmp_path / "work", NO_LOCKS, NO_MAPPINGS) as (mount, _):
        (mount / "file").write_bytes(bytes(4096))
        with (mount / "file").open("r+b") as file:
            assert lock(file.fileno()) is None
            with pytest.raises(OSError, match="No such device"):
                mmap.mmap(file.fileno(), 4096)
        for part in rows.partition_by("trial", "replicate", maintain_order=True)[:2]:
            write_part(mount / "run", part)
        merge_parts(mount / "run")
        assert len(read_rows(mount / "run"))


def test_a_work_folder_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty(tmp_path / "work", NO_LOCKS) as (mount, _):
        for folder in (*mount.parents[:5], mount):
            folder.chmod(folder.stat().st_mode | 0o055)
        monkeypatch.setenv("TIERWISE_WORK", str(mount / "data"))
        with pytest.raises(InputError, match=r"no locks.*TIERWISE_WORK"), workspace.exclusive_workspace():
            pass


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    monkeypatch.setenv("TIERWISE_WORK", str(tmp_path / "work"))
    return tmp_path / "work"


@pytest.mark.usefixtures("work")
def test_two_commands_do_not_measure_at_once() -> None:
    with workspace.one_report():
        with pytest.raises(TierwiseError, match=r"another run is measuring.*Remedy: wait for it"), workspace.one_report():
            pass
        with workspace.exclusive_workspace():
            pass  # its own notebooks do


def test_what_was_loaded_before_the_machine_was_started_is_loaded_again(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody flushes it: after a power cut it may be anything."""
    boot = work.with_name("boot")
    monkeypatch.setattr(workspace, "BOOT", boot)
    loaded = work / "runs" / "run" / "study"
    found = []
    for number in ("one", "one", "two"):
        boot.write_text(number)
        with workspace.exclusive_workspace():
            found.append(loaded.exists())
            loaded.mkdir(parents=True, exist_ok=True)
    assert found == [False, True, False]


def test_what_was_loaded_past_a_mount_that_was_taken_away_is_loaded_again(work: Path) -> None:
    """The server goes on below the mountpoint; mounted again, the tier lacks files that the loaded tables name."""
    replicates = [work / "runs" / "run" / "study-pair" / number for number in ("0", "1")]
    with workspace.exclusive_workspace():
        pass  # marks the folder
    for replicate in replicates:
        (replicate / "ssd" / "backing").mkdir(parents=True)
        (replicate / "ssd" / "mount").mkdir()
    with workspace.exclusive_workspace():
        assert all(replicate.exists() for replicate in replicates)
    (replicates[0] / "ssd" / "mount" / "PG_18").mkdir()
    with workspace.exclusive_workspace():
        assert [replicate.exists() for replicate in replicates] == [False, True]


def test_what_a_killed_server_was_loading_is_loaded_again(work: Path) -> None:
    """Files of what it had not committed are left; a server that only answered queries loses nothing."""
    with workspace.exclusive_workspace():
        pass  # marks the folder
    replicates = [work / "runs" / "run" / "study-pair" / number for number in ("0", "1", "2")]
    measuring = measuring_settings(find_binaries(), io_mode=IoMode.BUFFERED, shared_buffers_bytes=2**20)
    for replicate, settings in zip(replicates, (loading_settings(), loading_settings(), measuring), strict=True):
        data = replicate / "cluster" / "data"
        (data / "global").mkdir(parents=True)
        (data / "PG_VERSION").write_text("18")
        (data / SETTINGS_FILE).write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()))
        (data / PID_FILE).write_text("1\n")
    (replicates[1] / "cluster" / "data" / PID_FILE).unlink()  # it was stopped
    with workspace.exclusive_workspace():
        assert [replicate.exists() for replicate in replicates] == [False, True, True]
