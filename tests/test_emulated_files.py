"""An emulated mount is a file system like any other: whatever is done to it, it answers as a plain directory does."""

import errno
import mmap
import os
import random
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import psutil
import pytest

from emulation import emulated, foreground, new_folder
from tierwise.core.units import KIB, MIB
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.extents import EXTENT_BYTES
from tierwise.tiers.tier import FileIo
from tierwise.tiers.volume import SLOW_READS


@pytest.fixture(params=[False, True], ids=["direct", "cached"])
def tier(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Emulated]:
    """Provide a mount without and with the kernel's page cache."""
    with emulated(tmp_path, cached=request.param) as mounted:
        yield mounted


@dataclass
class Place:
    """One of two directories to which the same is done."""

    root: Path
    opened: list[int] = field(default_factory=list)

    def close(self) -> None:
        for descriptor in self.opened:
            os.close(descriptor)

    def tree(self) -> dict[str, tuple[object, ...]]:
        """Everything that is there, but for times and inode numbers."""
        found: dict[str, tuple[object, ...]] = {}
        for path in sorted(self.root.rglob("*")):
            at = path.lstat()
            content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
            size = at.st_size if stat.S_ISREG(at.st_mode) else 0
            found[str(path.relative_to(self.root))] = (at.st_mode, at.st_uid, at.st_gid, at.st_nlink, size, content)
        return found


Action = Callable[[Place], object]


def random_actions(chance: random.Random, count: int) -> Iterator[tuple[str, Action]]:
    """Yield (description, action): what programs do to files, successful or not."""
    names = [f"{folder}f{number}" for folder in ("", "d0/", "d1/", "d0/d2/") for number in range(4)]
    folders = ["d0", "d1", "d0/d2", "d3"]
    for _ in range(count):
        kind = chance.choice(ACTIONS)
        first, second, folder = chance.choice(names), chance.choice(names), chance.choice(folders)
        offset, size, seed = chance.randrange(200 * KIB), chance.choice([1, 100, 8 * KIB, 70_001, MIB + 5]), chance.randrange(1 << 30)
        yield f"{kind.__name__} {first} {second} {folder} {offset} {size}", kind(first, second, folder, offset, size, seed)


def _create(first: str, *_: object) -> Action:
    return lambda at: os.close(os.open(at.root / first, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640))


def _write(first: str, _second: str, _folder: str, offset: int, size: int, seed: int) -> Action:
    def action(at: Place) -> int:
        with (at.root / first).open("r+b", buffering=0) as file:
            file.seek(offset)
            return file.write(random.Random(seed).randbytes(size))

    return action


def _append(first: str, _second: str, _folder: str, _offset: int, size: int, seed: int) -> Action:
    def action(at: Place) -> int:
        descriptor = os.open(at.root / first, os.O_WRONLY | os.O_APPEND)
        try:
            return os.write(descriptor, random.Random(seed).randbytes(size))
        finally:
            os.close(descriptor)

    return action


def _read(first: str, _second: str, _folder: str, offset: int, size: int, _seed: int) -> Action:
    def action(at: Place) -> bytes:
        with (at.root / first).open("rb", buffering=0) as file:
            return os.pread(file.fileno(), size, offset)

    return action


def _map(first: str, *_: object) -> Action:
    def action(at: Place) -> bytes:
        with (at.root / first).open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            return mapped[:]

    return action


def _map_and_write(first: str, _second: str, _folder: str, offset: int, _size: int, seed: int) -> Action:
    def action(at: Place) -> None:
        with (at.root / first).open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[offset % len(mapped)] = seed % 256
            mapped.flush()

    return action


def _rename(first: str, second: str, *_: object) -> Action:
    return lambda at: (at.root / first).rename(at.root / second) and None


def _rename_folder(_first: str, _second: str, folder: str, offset: int, *_: object) -> Action:
    return lambda at: (at.root / folder).rename(at.root / ("d3" if offset % 2 else "d1")) and None


def _unlink(first: str, *_: object) -> Action:
    return lambda at: (at.root / first).unlink()


def _unlink_open(first: str, *_: object) -> Action:

    def action(at: Place) -> tuple[int, bytes]:
        descriptor = os.open(at.root / first, os.O_RDWR)
        at.opened.append(descriptor)
        (at.root / first).unlink()
        os.pwrite(descriptor, b"still here", 3)
        return os.fstat(descriptor).st_size, os.pread(descriptor, 1000, 0)

    return action


def _truncate(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    return lambda at: os.truncate(at.root / first, offset)


def _allocate(first: str, _second: str, _folder: str, offset: int, size: int, _seed: int) -> Action:
    def action(at: Place) -> None:
        with (at.root / first).open("r+b") as file:
            os.posix_fallocate(file.fileno(), offset, size)

    return action


def _sync(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    def action(at: Place) -> None:
        with (at.root / first).open("r+b") as file:
            (os.fsync if offset % 2 else os.fdatasync)(file.fileno())

    return action


def _mkdir(_first: str, _second: str, folder: str, *_: object) -> Action:
    return lambda at: (at.root / folder).mkdir(mode=0o750)


def _rmdir(_first: str, _second: str, folder: str, *_: object) -> Action:
    return lambda at: (at.root / folder).rmdir()


def _list(_first: str, _second: str, folder: str, *_: object) -> Action:
    def action(at: Place) -> list[tuple[str, bool, bool]]:
        with os.scandir(at.root / folder) as entries:
            return sorted((entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries)

    return action


def _chmod(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    return lambda at: (at.root / first).chmod(offset % 0o1000 | 0o600)


def _touch(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    def action(at: Place) -> tuple[int, int]:
        os.utime(at.root / first, ns=(offset * 10**9 + 5, offset * 10**9 + 7))
        found = (at.root / first).stat()
        return found.st_atime_ns, found.st_mtime_ns

    return action


def _link(first: str, second: str, *_: object) -> Action:
    return lambda at: (at.root / second).hardlink_to(at.root / first)


def _symlink(first: str, second: str, *_: object) -> Action:
    return lambda at: (at.root / second).symlink_to(Path(first).name)


def _seek_hole(first: str, _second: str, _folder: str, offset: int, *_: object) -> Action:
    def action(at: Place) -> tuple[int, int]:
        with (at.root / first).open("rb") as file:
            return os.lseek(file.fileno(), 0, os.SEEK_END), os.lseek(file.fileno(), offset, os.SEEK_HOLE)

    return action


ACTIONS: list[Callable[..., Action]] = [
    _create, _write, _write, _write, _append, _read, _read, _map, _map_and_write, _rename, _rename_folder, _unlink, _unlink_open,
    _truncate, _allocate, _sync, _mkdir, _mkdir, _rmdir, _list, _chmod, _touch, _link, _symlink, _seek_hole,
]  # fmt: skip


def outcome(action: Action, place: Place) -> object:
    """Return what `action` gives, or the error by its name."""
    try:
        return action(place)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    except ValueError as error:  # an empty file cannot be mapped
        return str(error)


def do_to_both(mounted: Place, plain: Place, actions: Iterable[tuple[str, Action]]) -> None:
    try:
        for number, (what, action) in enumerate(actions):
            assert outcome(action, mounted) == outcome(action, plain), f"{number}: {what}"
            if number % 100 == 0:
                assert mounted.tree() == plain.tree(), f"after {number}: {what}"
        assert mounted.tree() == plain.tree()
    finally:
        mounted.close()
        plain.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_random_operations_end_as_on_a_plain_directory(tier: Emulated, tmp_path: Path, seed: int) -> None:
    (tmp_path / "plain").mkdir()
    do_to_both(Place(tier.directory), Place(tmp_path / "plain"), random_actions(random.Random(seed), 1500))


def test_with_few_descriptors_files_are_reached_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with foreground(tmp_path, prefix=("prlimit", "--nofile=128:128")) as (_, mount):
        (mount / "many").mkdir()
        for number in range(300):
            (mount / "many" / str(number)).write_text(str(number), encoding="ascii")
        (mount / "few").mkdir()
        # A file that is unlinked while open is the one thing that takes a descriptor for as long as the program likes.
        actions = [(what, action) for what, action in random_actions(random.Random(3), 500) if not what.startswith("_unlink_open")]
        do_to_both(Place(mount / "few"), Place(tmp_path / "plain"), actions)
        assert sorted(int(path.read_text(encoding="ascii")) for path in (mount / "many").iterdir()) == list(range(300))


def test_two_writers_of_one_file_lose_nothing(tier: Emulated) -> None:
    path = tier.directory / "shared"
    path.touch()
    program = """
import os, sys
descriptor, mine = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT * int(sys.argv[3])), int(sys.argv[2])
import mmap
page = mmap.mmap(-1, 8192)
page[:] = bytes([65 + mine]) * 8192
for number in range(400):
    assert os.pwritev(descriptor, [page], (2 * number + mine) * 8192) == 8192
"""
    writers = [subprocess.Popen([sys.executable, "-c", program, path, str(mine), "1"]) for mine in (0, 1)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert path.read_bytes() == (b"A" * 8192 + b"B" * 8192) * 400


def test_appends_of_two_writers_follow_each_other(tier: Emulated) -> None:
    path = tier.directory / "log"
    program = """
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for _ in range(500):
    os.write(descriptor, sys.argv[2].encode() * 99 + b"\\n")
"""
    writers = [subprocess.Popen([sys.executable, "-c", program, path, letter]) for letter in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    lines = path.read_text(encoding="ascii").splitlines()
    assert (lines.count("a" * 99), lines.count("b" * 99), len(lines)) == (500, 500, 1000)


def test_a_remount_keeps_data_and_addresses(tier: Emulated) -> None:
    blocks = {name: random.Random(name).randbytes(3 * MIB) for name in ("one", "two")}

    def addresses() -> dict[tuple[str, int], int]:
        tier.reset_io()
        for name in blocks:
            descriptor = os.open(tier.directory / name, os.O_RDONLY | os.O_DIRECT)
            os.preadv(descriptor, [mmap.mmap(-1, 8 * KIB)], MIB)
            os.close(descriptor)
        return {(row["file"], row["offset_bytes"]): row["address_bytes"] for row in tier.requests().to_dicts()}

    for name, block in blocks.items():
        (tier.directory / name).write_bytes(block)
    before = addresses()
    tier.stop()
    tier.start()
    assert {name: (tier.directory / name).read_bytes() for name in blocks} == blocks
    assert addresses() == before
    assert len(set(before.values())) == 2


def read_in_pages(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        while file.read(8 * KIB):
            pass


def test_a_read_is_answered_and_counted_by_compiled_code_as_by_python(tmp_path: Path) -> None:
    chance = random.Random(11)
    written = {"large": chance.randbytes(2 * EXTENT_BYTES + 5000), "small": chance.randbytes(100)}
    places = [("large", chance.randrange(2 * EXTENT_BYTES) // KIB * KIB, chance.choice((KIB, 8 * KIB))) for _ in range(300)]
    places += [
        ("large", 2 * EXTENT_BYTES, 8 * KIB),
        ("large", 2 * EXTENT_BYTES + 8 * KIB, KIB),
        ("small", 0, 8 * KIB),
    ]  # the ends, and beyond
    page = mmap.mmap(-1, 8 * KIB)

    def seen(tier: Emulated) -> tuple[pl.DataFrame, FileIo, FileIo]:
        tier.reset_io()
        begun_s = time.monotonic()
        for name, offset, size in places:
            got = os.preadv(opened[name], [memoryview(page)[:size]], offset)
            assert page[:got] == written[name][offset : offset + size]
        requests = tier.requests()
        assert (
            requests.select((begun_s <= pl.col("time_s")) & (pl.col("time_s") + pl.col("actual_s") <= time.monotonic())).to_series().all()
        )
        return requests, tier.io()["large"], tier.io()["small"]

    with emulated(tmp_path) as tier, ExitStack() as files:
        daemon = psutil.Process(tier.daemon.pid)
        for name, content in written.items():
            (tier.directory / name).write_bytes(content)
        opened = {name: files.enter_context((tier.directory / name).open("rb", buffering=0)).fileno() for name in written}
        slow = seen(tier)
        assert not any("llvmlite" in mapped.path for mapped in daemon.memory_maps()), "a mount that is hardly read loads nothing"
        for at in range(SLOW_READS):
            os.preadv(opened["large"], [page], at % 4096 * 8 * KIB)
        assert any("llvmlite" in mapped.path for mapped in daemon.memory_maps())
        seen(tier)
        quick = seen(tier)
        times = ["time_s", "actual_s"]
        assert quick[0].drop(times).equals(slow[0].drop(times))
        for file, was, now in zip(("large", "small"), slow[1:], quick[1:], strict=True):
            assert now.reads == was.reads > 0
            assert now.read_bytes == was.read_bytes
            assert now.actual_s == pytest.approx(quick[0].filter(file=file)["actual_s"].sum(), rel=1e-4)
        assert quick[0]["time_s"].is_sorted()
        assert 0 < quick[1].overshoot_max_s <= quick[1].actual_s
        tier.reset_io()
        os.preadv(opened["small"], [page], 0)
        os.preadv(opened["large"], [page], 0)
        (tier.directory / "large").rename(tier.directory / "moved")
        assert {name: counted.reads for name, counted in tier.io().items()} == {"moved": 1, "small": 1}
        tier.delays(True)
        tier.reset_io()
        os.preadv(opened["large"], [page], 0)
        assert tier.io()["moved"].intended_s > 0, "with delays every read waits for the device"


def test_the_page_cache_is_used_only_where_it_was_requested_for(tmp_path: Path) -> None:
    with emulated(tmp_path) as tier:
        path = tier.directory / "file"
        path.write_bytes(bytes(4 * MIB))
        read_in_pages(path)
        tier.reset_io()
        read_in_pages(path)
        assert tier.io()["file"].reads == 512 + 1, "the last read finds the end"
        tier.empty_cache(cached=True)
        read_in_pages(path)
        assert tier.io()["file"].read_bytes == 4 * MIB
        assert tier.requests()["size_bytes"].max() == 128 * KIB, "the kernel's read-ahead"
        tier.reset_io()
        read_in_pages(path)
        assert tier.io() == {}
        tier.empty_cache()
        read_in_pages(path)
        assert tier.io()["file"].read_bytes == 4 * MIB, "the remount has emptied the cache"


def test_new_files_belong_to_whoever_makes_them(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("acting as another user needs root")
    folder = new_folder(Path("/var/tmp"))
    nobody = (65534, 65534)
    try:
        with emulated(folder, owner=nobody) as tier:
            subprocess.run(["mkdir", "-m", "700", tier.directory / "d"], check=True, user=nobody[0], group=nobody[1], extra_groups=[])
            subprocess.run(["touch", tier.directory / "d" / "f"], check=True, user=nobody[0], group=nobody[1], extra_groups=[])
            for path in (tier.directory, tier.directory / "d", tier.directory / "d" / "f"):
                assert (path.stat().st_uid, path.stat().st_gid) == nobody
            tier.directory.chmod(0o700)
            refused = subprocess.run(["ls", tier.directory], check=False, capture_output=True, user=1, group=1, extra_groups=[])
            assert b"Permission denied" in refused.stderr
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


def test_a_full_device_is_an_error_not_a_crash(tier: Emulated) -> None:
    def fill() -> None:
        with (tier.directory / "huge").open("wb") as file:
            for offset in range(0, 40 * 10**9, 16 * MIB):  # the device has 32 GB
                os.pwrite(file.fileno(), b"x", offset)

    with pytest.raises(OSError, match="No space left"):
        fill()
    (tier.directory / "huge").unlink()
    (tier.directory / "small").write_text("fits again", encoding="ascii")
