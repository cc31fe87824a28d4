"""How much too long the clock of several sessions counts processes that compute between their reads.

Run by name, as root, on an idle machine: ``python benchmarks/by_name/several_sessions.py [ROUNDS]`` (three minutes a round). Up to eight
processes read at random and compute for a known time after each read. Two figures say how long that should take. *Alone*: on as many
processors, the longest of them would take its own processor time and its service times; on the real ones, one of which the mounts' daemon
needs, they compute one after the other. *Real*: the same mount waits in real time, and the clock assumes the real processors. Each ratio is
the virtual time over that, with the smallest and the largest of the rounds. It has no bound: it says where times of several sessions may be
trusted.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tierwise.core.session_group import SessionGroup, session_group
from tierwise.core.units import MIB
from tierwise.postgres.workspace import server_account
from tierwise.tiers.emulated import Emulated
from tierwise.tiers.reclaim import reclaim

CASES: Final = (
    ("local-nvme", 1.0, 50, 1500),
    ("local-nvme", 1.0, 200, 1500),
    ("intel-x25-e", 1.0, 100, 1500),
    ("intel-x25-e", 1.0, 800, 1500),
    ("intel-x25-e", 8.0, 100, 1500),
    ("intel-x25-e", 24.0, 100, 500),
    ("sata-7k2", 1.0, 100, 100),
)
"""A drive, how many times as slow, microseconds that are computed after each read, and reads."""
SESSIONS: Final = (1, 2, 4, 8)
READER: Final = """
import mmap, os, random, sys, time
path, seed, compute_s, reads = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1e6, int(sys.argv[4])
descriptor, chance, buffer = os.open(path, os.O_RDONLY | os.O_DIRECT), random.Random(seed), mmap.mmap(-1, 8192)
print("ready", flush=True)
sys.stdin.readline()
begun_s = time.process_time()
for _ in range(reads):
    os.preadv(descriptor, [buffer], chance.randrange(8192) * 8192)
    until_s = time.process_time() + compute_s
    while time.process_time() < until_s:
        pass
print(time.process_time() - begun_s, flush=True)
sys.stdin.readline()
"""


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for device, slowdown, compute_us, reads in CASES:
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
                    load = Load(tier, path, group, slowdown, compute_us, reads)
                    found = {count: [load.ratios(count) for _ in range(rounds)] for count in SESSIONS}
            finally:
                tier.stop()
                reclaim(Path(folder))
        for place, name in enumerate(("alone", "real")):
            texts = (f"{count}: {band([each[place] for each in several])}" for count, several in found.items())
            print(
                f"{device}, {slowdown:g} times as slow, {compute_us} us computed after each read; over {name}: {', '.join(texts)}",
                flush=True,
            )
    return 0


def band(ratios: list[float]) -> str:
    middle = f"{statistics.median(ratios):.2f}"
    return middle if len(ratios) == 1 else f"{middle} ({min(ratios):.2f} to {max(ratios):.2f})"


@dataclass(frozen=True)
class Load:
    """Readers of `path` on a mount slowed by `slowdown`, which compute for `compute_us` after each read."""

    tier: Emulated
    path: Path
    group: SessionGroup
    slowdown: float
    compute_us: float
    reads: int

    def ratios(self, count: int) -> tuple[float, float]:
        """Return the virtual time of `count` readers over the longest time of one alone, and over the real time that they take."""
        gained_s, alone_s = self.run(count, processors=count)
        return gained_s / alone_s, self.run(count, processors=os.cpu_count() or 1)[0] / self.run(count, processors=0)[0]

    def run(self, count: int, *, processors: int) -> tuple[float, float]:
        """Return the time by the mount's clock, real without `processors`, and the longest that a reader computed and waited."""
        daemon, command = self.tier.daemon, [sys.executable, "-c", READER, str(self.path)]
        with self.group.entered():
            readers = [
                subprocess.Popen(
                    [*command, str(seed), str(self.compute_us), str(self.reads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
                for seed in range(count)
            ]
            for reader in readers:
                assert reader.stdout is not None
                reader.stdout.readline()
        if processors:
            daemon.count_several(self.group.folders, processors=processors, origin_s=0.0)
        self.tier.delays(True, slowdown=self.slowdown)
        self.tier.reset_io()
        try:
            begun_s = daemon.time().now_s
            for reader in readers:
                assert reader.stdin is not None
                reader.stdin.write("\n")
                reader.stdin.flush()
            computed_s = [float(reader.stdout.readline()) for reader in readers if reader.stdout]
            gained_s = daemon.time().now_s - begun_s
        finally:
            self.tier.delays(False)
            daemon.wait_in_real_time()
            for reader in readers:
                reader.communicate("\n")
        return gained_s, max(computed_s) + sum(io.intended_s or 0.0 for io in self.tier.io().values()) / count


if __name__ == "__main__":
    sys.exit(main())
