"""``tierwise trace``: for a while, every read of a running server, by tablespace. It reads, and changes nothing."""

import signal
import time
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.files import replacing
from tierwise.core.progress import say
from tierwise.recorders.choice import RECORDERS, choose
from tierwise.recorders.reads import MOST_READS, Recording, Server, find_server, locations
from tierwise.timings.reads import buckets

LONGEST_S: Final = 3600.0
BAR: Final = 40
LOOK_S: Final = 0.1


def trace(*, cluster: Path | None, pid: int | None, seconds: float, out: Path | None, recorder: str = "auto") -> str:
    """Record the reads of the server for `seconds` and tell their times by tablespace; `out` is a Parquet file for the single reads.

    It ends by itself, or on Ctrl-C or SIGTERM (what was recorded until then is told), and keeps `MOST_READS` at most. Killed, it leaves
    nothing: the kernel ends the tracing program with it.

    Raises:
        InputError: a wrong server, time or file; MissingError: nothing may record here.
    """
    if not 0 < seconds <= LONGEST_S:
        raise InputError("--seconds", value=seconds, rule=f"must be more than 0 and at most {LONGEST_S:.0f}")
    if out is not None and not out.parent.is_dir():
        raise InputError("--out", value=str(out), rule="its folder does not exist", remedy=f"mkdir -p {out.parent}")
    server = find_server(cluster=cluster, pid=pid)
    chosen = choose(recorder)
    say(f"to record: {_named(server)} with {chosen} for {seconds:g} s, at most {MOST_READS:,} reads: {RECORDERS[chosen].overhead}")
    recording = _recorded(server, chosen, seconds)
    placed = recording.reads.with_columns(pl.col("tablespace").replace(locations(server.data)))
    if out is not None:
        with replacing(out) as part:
            placed.write_parquet(part)
        say(f"{len(placed):,} reads: {out}")
    return as_text(placed) + (f"\nthere were more: of the reads the first {MOST_READS:,} were kept" if recording.full else "")


def _recorded(server: Server, recorder: str, seconds: float) -> Recording:
    """What was seen in `seconds`, or until this process was told to end."""
    told_to_end: list[int] = []
    before = {number: signal.signal(number, lambda got, _: told_to_end.append(got)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with RECORDERS[recorder].recorded(server, seconds=seconds) as recording:
            say("recording")
            until_s = time.monotonic() + seconds
            while time.monotonic() < until_s and not told_to_end and not recording.ended():
                time.sleep(min(LOOK_S, seconds))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return recording


def _named(server: Server) -> str:
    if server.only is None:
        return f"the server in {server.data}"
    return f"process {server.only} (what it hands to I/O workers, as PostgreSQL 18 does, they read)"


def as_text(reads: pl.DataFrame) -> str:
    """A power-of-two histogram for all reads and for each tablespace, as the source's."""
    if reads.is_empty():
        return "no read was seen: the server asked nothing of the storage"
    parts = [("all", reads), *((str(name), part) for (name,), part in reads.sort("tablespace").group_by("tablespace", maintain_order=True))]
    return "\n\n".join(_histogram(name, part) for name, part in parts)


def _histogram(name: str, reads: pl.DataFrame) -> str:
    counted = dict(reads.group_by(bucket=buckets(pl.col("latency_s"))).len().iter_rows())
    quantiles = [reads["latency_s"].quantile(share) or 0.0 for share in (0.5, 0.95, 0.99)]
    told = ", ".join(f"{share} {1e6 * value:,.0f} us" for share, value in zip(("p50", "p95", "p99"), quantiles, strict=True))
    lines = [f"{name}: {len(reads):,} reads, {told}", f"{'us from':>12}  {'':{BAR}} reads"]
    for bucket in range(min(counted), max(counted) + 1):
        held = counted.get(bucket, 0)
        lines.append(f"{2**bucket / 1000:12,.0f}  {'@' * round(BAR * held / len(reads)):{BAR}} {held:,}")
    return "\n".join(lines)
