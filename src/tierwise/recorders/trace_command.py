"""``tierwise trace``: for a while, every read or page request of a running server. It reads, and changes nothing."""

import signal
import time
from pathlib import Path
from typing import Final

import polars as pl

from tierwise.core.errors import InputError
from tierwise.core.files import replacing
from tierwise.core.progress import say
from tierwise.core.text_table import table
from tierwise.core.text_template import render
from tierwise.core.units import PAGE_BYTES
from tierwise.recorders import page_requests
from tierwise.recorders.reads import MOST_READS, Recording, Server, find_server
from tierwise.recorders.selection import RECORDERS, Recorded, choose

LONGEST_S: Final = 3600.0
BAR: Final = 40
LOOK_S: Final = 0.1
SHARES: Final = (0.5, 0.95, 0.99)
FULL: Final = "\nThere were more reads, but only the first ones were kept."


def trace(
    *, cluster: Path | None, pid: int | None, seconds: float, out: Path | None, recorder: str = "auto", requests: bool = False
) -> str:
    """Record the reads of the server for `seconds`, or until Ctrl-C or SIGTERM, and return their times by tablespace; `out` is a Parquet
    file for single reads, without which the kernel only counts. With `requests`, record page requests instead.
    """
    if not 0 < seconds <= LONGEST_S:
        raise InputError("--seconds", value=seconds, rule=f"must be more than 0 and at most {LONGEST_S:.0f}")
    if out is not None and not out.parent.is_dir():
        raise InputError("--out", value=str(out), rule="its folder does not exist", remedy=f"mkdir -p {out.parent}")
    server = find_server(cluster=cluster, pid=pid)
    if requests:
        return _requests(server, seconds, out)
    chosen = choose(recorder)
    known = RECORDERS[chosen]
    record = known.recorded if out is not None or known.counting is None else known.counting
    most = MOST_READS if record is known.recorded else None
    say(_words("begins.reads", server=server, recorder=chosen, seconds=seconds, most=most, overhead=_words(f"overheads.{chosen}")))
    recording = _recorded(server, record, seconds)
    places = pl.col("tablespace").replace({link.name: str(link.resolve()) for link in (server.data / "pg_tblspc").glob("*")})
    if out is not None:
        with replacing(out) as part:
            recording.reads.with_columns(places).write_parquet(part)
        say(f"{recording.reads.height:,} reads: {out}")
    text = as_text(recording.counts.with_columns(places))
    if recording.most_for_one > 1:
        text += f"\nReads were too many, so a random sample was taken. Each sampled read counts for up to {recording.most_for_one}."
    return text + (FULL if recording.full else "")


def _requests(server: Server, seconds: float, out: Path | None) -> str:
    if out is None:
        raise InputError("--requests", rule="keeps single page requests", remedy="give --out FILE")
    page_requests.require(server)
    say(_words("begins.requests", server=server, seconds=seconds, overhead=_words("overheads.page_requests")))
    recording = _recorded(server, page_requests.recorded, seconds)
    with replacing(out) as part:
        recording.reads.write_parquet(part, metadata=page_requests.KIND)
    pages = recording.reads.group_by("relation").agg((pl.col("size_bytes").sum() // PAGE_BYTES).alias("pages"))
    rows = [[relation, f"{count:,}"] for relation, count in pages.sort("pages", descending=True).iter_rows()]
    return table(["relation (database/file node)", "page requests"], rows, numbers=(1,)) + (FULL if recording.full else "")


def _words(key: str, **values: object) -> str:
    return render(f"recorders/words.toml:{key}", **values)


def _recorded(server: Server, record: Recorded, seconds: float) -> Recording:
    signals: list[int] = []
    before = {number: signal.signal(number, lambda got, _: signals.append(got)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with record(server, seconds=seconds) as recording:
            say("recording")
            begun_s = time.monotonic()
            while time.monotonic() < begun_s + seconds and not signals and not recording.ended():
                time.sleep(min(LOOK_S, seconds))
            say(f"recorded for {time.monotonic() - begun_s:.1f} s")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return recording


def as_text(counts: pl.DataFrame) -> str:
    if counts.is_empty():
        return "no read was seen: the server requested nothing from the storage"
    every = counts.group_by("bucket").agg(pl.col("reads").sum())
    parts = [
        ("all", every),
        *((str(name), part) for (name,), part in counts.sort("tablespace").group_by("tablespace", maintain_order=True)),
    ]
    return "\n\n".join(_histogram(name, part.sort("bucket")) for name, part in parts)


def _histogram(name: str, part: pl.DataFrame) -> str:
    total, counted = int(part["reads"].sum()), dict(part.select("bucket", "reads").iter_rows())
    within = [part.filter(pl.col("reads").cum_sum() >= share * total)["bucket"][0] + 1 for share in SHARES]
    shares = ", ".join(f"{100 * share:g} % below {2**edge / 1000:,.0f} us" for share, edge in zip(SHARES, within, strict=True))
    lines = [f"{name}: {total:,} reads, {shares}", f"{'us from':>12}  {'':{BAR}} reads"]
    for bucket in range(min(counted), max(counted) + 1):
        held = counted.get(bucket, 0)
        lines.append(f"{2**bucket / 1000:12,.0f}  {'@' * round(BAR * held / total):{BAR}} {held:,}")
    return "\n".join(lines)
