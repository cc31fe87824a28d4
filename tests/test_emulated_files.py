"""An emulated mount is a file system like any other: whatever is done to it, it answers as a plain directory does."""

import mmap
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import psutil
import pytest

from emulation import emulated, foreground, new_folder
from file_actions import Place, do_to_both, random_actions
from tierwise.core.units import KIB, MIB
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.nodes import EXTENT_BYTES
from tierwise.tiers.tier import FileIo
from tierwise.tiers.volume import SLOW_READS


@pytest.fixture(params=[False, True], ids=["direct", "cached"])
def tier(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Emulated]:
    with emulated(tmp_path, cached=request.param) as mounted:
        yield mounted


@pytest.mark.parametrize("seed", [1, 2])
def test_random_operations_end_as_on_a_plain_directory(tier: Emulated, tmp_path: Path, seed: int) -> None:
    (tmp_path / "plain").mkdir()
    do_to_both(Place(tier.directory), Place(tmp_path / "plain"), random_actions(random.Random(seed), 1500))


def test_with_few_descriptors_files_are_reached_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with foreground(tmp_path, prefix=("prlimit", "--nofile=128:128")) as (_, mount):
        (mount / "many").mkdir()
        for number in range(150):
            (mount / "many" / str(number)).write_text(str(number), encoding="ascii")
        (mount / "few").mkdir()
        # A file that is unlinked while open is the one thing that takes a descriptor for as long as the program likes.
        actions = [(what, action) for what, action in random_actions(random.Random(3), 100) if not what.startswith("unlink open")]
        do_to_both(Place(mount / "few"), Place(tmp_path / "plain"), actions)
        assert sorted(int(path.read_text(encoding="ascii")) for path in (mount / "many").iterdir()) == list(range(150))


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
        tier.reset_io()
        os.preadv(opened["small"], [page], 0)
        os.preadv(opened["large"], [page], 0)
        (tier.directory / "large").rename(tier.directory / "moved")
        assert {name: counted.reads for name, counted in tier.io().items()} == {"moved": 1, "small": 1}
        tier.delays(True)
        tier.reset_io()
        os.preadv(opened["large"], [page], 0)
        assert tier.io()["moved"].intended_s > 0, "with delays every read waits for the device"


def test_the_page_cache_is_used_only_where_it_was_requested(tmp_path: Path) -> None:
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
