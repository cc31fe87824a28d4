"""How much too long the clock of several sessions counts processes that compute between their reads, beside what each would take alone.

Run by name, as root: ``python benchmarks/by_name/several_sessions.py`` (two minutes). Up to four processes, of as many processors, read
at random and compute for a known time after each read. Side by side each would take its processor time and its service times; on
two real processors, one of which the mounts' daemon needs, they compute one after the other, and who waits for a read is answered once
somebody else waits. The ratio is the virtual time over the longest of them. It has no bound: it says where times of several sessions may
be trusted.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tierwise.core.session_group import SessionGroup, session_group
from tierwise.core.units import MIB
from tierwise.postgres.workspace import server_account
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.reclaim import reclaim

CASES: Final = (
    ("local-nvme", 1.0, 50),
    ("local-nvme", 1.0, 200),
    ("intel-x25-e", 1.0, 100),
    ("intel-x25-e", 1.0, 800),
    ("intel-x25-e", 8.0, 100),
    ("sata-7k2", 1.0, 100),
)
"""A drive, how many times as slow, and microseconds that are computed after each read."""
READS: Final = 1_500
PAGES: Final = 8_192
PROCESSORS: Final = 4
READER: Final = f"""
import mmap, os, random, sys, time
path, seed, compute_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1e6
descriptor, chance, buffer = os.open(path, os.O_RDONLY | os.O_DIRECT), random.Random(seed), mmap.mmap(-1, 8192)
print("ready", flush=True)
sys.stdin.readline()
begun_s = time.process_time()
for _ in range({READS}):
    os.preadv(descriptor, [buffer], chance.randrange({PAGES}) * 8192)
    until_s = time.process_time() + compute_s
    while time.process_time() < until_s:
        pass
print(time.process_time() - begun_s, flush=True)
sys.stdin.readline()
"""


def main() -> int:
    for device, slowdown, compute_us in CASES:
        with tempfile.TemporaryDirectory(prefix="tierwise-bench-", dir="/var/tmp") as folder:
            Path(folder).chmod(0o755)
            account = server_account()
            (work := Path(folder) / "tier").mkdir()
            tier = Emulated("tier", device, work=work, stretch=1.0, seed=1, owner=(account.uid, account.gid))
            tier.start()
            try:
                path = tier.directory / "data"
                path.write_bytes(bytes(64 * MIB))
                with session_group() as group:
                    ratios = [ratio(tier, path, group, count, slowdown=slowdown, compute_us=compute_us) for count in (1, 2, 3, 4)]
            finally:
                tier.stop()
                reclaim(Path(folder))
        ratio_list = ", ".join(f"{count}: {ratio:.2f}" for count, ratio in enumerate(ratios, start=1))
        print(
            f"{device}, {slowdown:g} times as slow, {compute_us} us computed after each read; over one alone: {ratio_list}",
            flush=True,
        )
    return 0


def ratio(tier: Emulated, path: Path, group: SessionGroup, count: int, *, slowdown: float, compute_us: float) -> float:
    """Return the virtual time of `count` processes over the longest time that one of them computed and waited."""
    command = [sys.executable, "-c", READER, str(path)]
    with group.entered():
        readers = [
            subprocess.Popen([*command, str(seed), str(compute_us)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for seed in range(count)
        ]
        for reader in readers:
            assert reader.stdout is not None
            reader.stdout.readline()
    tier.daemon.count_several(group.folders, processors=PROCESSORS, origin_s=0.0)
    tier.delays(True, slowdown=slowdown)
    tier.reset_io()
    try:
        begun = tier.daemon.time()
        for reader in readers:
            assert reader.stdin is not None
            reader.stdin.write("\n")
            reader.stdin.flush()
        computed_s = [float(reader.stdout.readline()) for reader in readers if reader.stdout]
        gained_s = tier.daemon.time().now_s - begun.now_s
    finally:
        tier.delays(False)
        tier.daemon.wait_in_real_time()
        for reader in readers:
            reader.communicate("\n")
    real_s = sum(io.intended_s or 0.0 for io in tier.io().values()) / count
    return gained_s / (max(computed_s) + real_s)


if __name__ == "__main__":
    sys.exit(main())
