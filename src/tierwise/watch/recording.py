"""The loop of a watch: samples, a snapshot at the end of each window, reconnection, and what is written of each."""

import json
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

import polars as pl
import psycopg

from tierwise.core.activity import MOST_SPREAD
from tierwise.core.errors import InputError
from tierwise.core.progress import INTERVAL_S, say
from tierwise.core.units import human_seconds
from tierwise.postgres.settings import Connection
from tierwise.watch import activity_file as kept
from tierwise.watch import snapshot, statements
from tierwise.watch.answer import answer
from tierwise.watch.connecting import Server, closed, connect, databases, server_of
from tierwise.watch.masking import Mask
from tierwise.watch.sampling import Waits, sample
from tierwise.watch.service_times import ServiceTimes
from tierwise.watch.statements import DATABASE, RELATION
from tierwise.watch.steadiness import LEAST_TRANSACTIONS

WINDOW_S: Final = 60.0
LEAST_WINDOWS: Final = 10
SAMPLE_S: Final = 1.0
LEAST_SAMPLES: Final = 600
SIZES_S: Final = 3600.0
MOST_SIZES: Final = 500
RETRY_S: Final = 2.0
CLOCK_S: Final = 5.0  # a clock that falls behind by less in a window was not set back (chosen)
NO_SERVICE_TIMES: Final = ServiceTimes()
JITTER: Final = 0.25  # samples come this much earlier or later, so that no periodic load hides between them


@dataclass
class Request:
    dsn: str
    duration_s: float
    out: Path
    all_databases: bool = False
    mask: Path | None = None

    @property
    def window_s(self) -> float:
        return min(WINDOW_S, self.duration_s / LEAST_WINDOWS)

    @property
    def sample_s(self) -> float:
        """Return the seconds between samples: fewer in a short watch, so that it has as many as ten minutes have."""
        return min(SAMPLE_S, max(0.1, self.duration_s / LEAST_SAMPLES))


@dataclass
class Link:
    """The open sessions, and what the last snapshot said."""

    pairs: list[tuple[Connection, Server]]
    before: snapshot.Snapshot
    sent: int = 1
    sized_s: float = -SIZES_S

    @property
    def server(self) -> Server:
        return self.pairs[0][1]


@dataclass
class Watch:
    request: Request
    segments: kept.Segments
    mask: Mask
    window: int = 0
    watched_s: float = 0.0
    events: list[tuple[str, str | None, float | None, str | None]] = field(default_factory=list)
    places: pl.DataFrame | None = None
    last: Server | None = None
    stopped: bool = False
    _reported_s: float = 0.0
    _transactions_s: list[float] = field(default_factory=list)  # the mean time of one, by window

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Watch until the time is over or a signal comes; a lost connection is a gap, a refused one at the start an error."""
        link: Link | None = self._linked()
        if link and not link.server.superuser and not link.server.service:
            say("watch: this role is no superuser, so its file serves for advice on volumes, and not on relations")
        ready()
        lost_s: float | None = None
        while self.watched_s < self.request.duration_s - 0.5 * self.request.window_s and not self.stopped:
            try:
                if link is None:
                    link = self._linked()
                self._found_again(lost_s, link.before.views[RELATION].at_s)
                lost_s = None
                self._one_window(link)
            except (psycopg.Error, InputError):  # lost, restarted, or refused meanwhile: tried again until the time is over
                if lost_s is None:  # the window that did not end counts nothing
                    lost_s = link.before.views[RELATION].at_s if link else time.monotonic()
                for connection, _ in link.pairs if link else ():
                    closed(connection)
                link = None
                self.watched_s += RETRY_S
                time.sleep(RETRY_S)
        for connection, _ in link.pairs if link else ():
            closed(connection)
        if lost_s is not None:  # the time was over before the server was back
            self._found_again(lost_s, time.monotonic())
            self.segments.write(self.window, kept.facts(kept.EVENT, iter(self.events), self.window))

    def _found_again(self, lost_s: float | None, now_s: float) -> None:
        if lost_s is not None:
            self.events.append(("gap", None, now_s - lost_s, "a new connection"))

    def _linked(self) -> Link:
        first, server = connect(self.request.dsn)
        pairs = [(first, server)]
        if self.request.all_databases:
            pairs += [connect(self.request.dsn, database=name) for name in databases(first) if name != server.name]
        self._compare(server)
        snapshot.take(pairs)  # the first one reads the catalogs from disk: seconds on a busy one, so its time says nothing
        return Link(pairs, snapshot.take(pairs))

    def _compare(self, server: Server) -> bool:
        """Note a restart or a promotion since `last`, and return whether there was a promotion."""
        last = self.last
        if last is not None and last.started != server.started:
            self.events.append(("restart", None, None, server.started))
        promoted = last is not None and last.standby and not server.standby
        if promoted:
            self.events.append(("promotion", None, None, "the standby became a primary"))
        self.last = server
        return promoted

    def _compare_clocks(self, before: Server, after: Server, watched_s: float) -> None:
        """Note by how much the server's clock was set back, from the age of its counters."""
        if before.counted_days is None or after.counted_days is None:
            return
        back_s = watched_s - 86400 * (after.counted_days - before.counted_days)
        if back_s > CLOCK_S and not 0 <= 86400 * after.counted_days <= watched_s + CLOCK_S:  # else they were reset
            self.events.append(("clock", None, back_s, None))

    def _one_window(self, link: Link) -> None:
        waits, ends_s = Waits(), link.before.views[RELATION].at_s + self.request.window_s
        shaken = random.Random(self.window)
        while (now_s := time.monotonic()) < ends_s and not self.stopped:
            time.sleep(max(0.0, min(ends_s - now_s, self.request.sample_s * shaken.uniform(1 - JITTER, 1 + JITTER))))
            sample(link.pairs[0][0], waits, link.server.database)
        last = link.server  # this statement reads a table, so the server now counts the samples, which read none
        link.pairs = [(connection, self._refreshed(connection, server)) for connection, server in link.pairs]
        after = snapshot.take(link.pairs, (waits.taken + link.sent, 0.0))
        watched_s = after.views[RELATION].at_s - link.before.views[RELATION].at_s
        self._compare_clocks(last, link.server, watched_s)
        if self._compare(link.server):
            raise InputError("watch", rule="ends its connection at a promotion", remedy="a new one begins")  # which `run` opens
        rises = snapshot.rises(link.before, after)
        rows, took = self._rows(link, after, waits, rises), self._took(rises[DATABASE].rows, after)
        link.before, link.sent = after, 1
        rows += self._sizes(link, after)
        self.mask.keep()  # before what only its key restores
        self.segments.write(self.window, pl.concat(rows))
        self.window += 1
        self.watched_s += watched_s
        left_s = max(0.0, self.request.duration_s - self.watched_s)
        if self._reported_s + INTERVAL_S > time.monotonic() and left_s:
            return
        self._reported_s = time.monotonic()
        say(f"watched {human_seconds(self.watched_s)}, {human_seconds(left_s)} left{took} ({self.segments.path})")

    def _took(self, rows: pl.DataFrame, after: snapshot.Snapshot) -> str:
        """Return what to say of a transaction's time in this window: `advise` refuses loads whose times differ much."""
        rose = rows.filter(entity=str(after.database))
        transactions, active_s, idle_s = (float(rose[name].sum()) for name in ("transactions", "active_s", "idle_in_transaction_s"))
        transactions, seconds = transactions - after.own_transactions, active_s + idle_s - after.own_s
        if transactions < LEAST_TRANSACTIONS / LEAST_WINDOWS or seconds <= 0:
            return ""
        now_s = seconds / transactions
        usual_s = median(self._transactions_s or [now_s])
        self._transactions_s.append(now_s)
        unsteady = f", before {1000 * usual_s:,.1f} ms: advice needs a steady load" if abs(now_s / usual_s - 1) > MOST_SPREAD else ""
        return f"; a transaction took {1000 * now_s:,.1f} ms{unsteady}"

    def _refreshed(self, connection: Connection, server: Server) -> Server:
        row = connection.execute(statements.SQL["server"].encode()).fetchone()
        return server if row is None else replace(server_of(row, server.version, server.host), statements=server.statements)

    def _rows(self, link: Link, after: snapshot.Snapshot, waits: Waits, rises: Mapping[str, snapshot.Rise]) -> list[pl.DataFrame]:
        found, number = [], self.window
        spans: list[tuple[str, str | None, float | None, str | None]] = []
        for name, rise in rises.items():
            whole = rise.broken == ("all",)
            spans += [] if whole else [(name, None, rise.seconds, datetime.now(UTC).isoformat(timespec="milliseconds"))]
            if whole or (rise.broken and name != DATABASE):  # else another database's counters
                self.events.append(("reset", name, rise.seconds, "all" if whole else f"{len(rise.broken)}"))
            if name == RELATION:
                found.append(kept.rows_of(RELATION, rise.rows.drop("file", "place"), window=number))
            else:
                tall = rise.rows.unpivot(index="entity", variable_name="counter", value_name="value").drop_nulls("value")
                found.append(kept.rows_of(name, tall, window=number))
        counts = ((group, event, weight, None) for (group, event), weight in sorted(waits.counts.items()))
        found.append(kept.facts(kept.WAIT, iter(counts), number))
        found.append(self._names(link, after.views[RELATION].rows))
        broken = not any(span[0] == DATABASE for span in spans)
        own = [] if broken else [("own transactions", None, float(after.own_transactions), None), ("own seconds", None, after.own_s, None)]
        found.append(kept.facts(kept.SAMPLES, iter([("taken", None, float(waits.taken), None), *own]), number))
        server = {**asdict(link.server), "name": self.mask("database", link.server.name), "mask": self.mask.digest}
        found.append(kept.facts(kept.SERVER, iter([(key, None, None, str(value)) for key, value in server.items()]), number))
        found += [kept.facts(kept.SPAN, iter(spans), number), kept.facts(kept.EVENT, iter(self.events), number)]
        self.events = []
        return found

    def _names(self, link: Link, relations: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the names of relations that are new or lie elsewhere, and of those that were dropped."""
        first = self.places is None
        fresh, gone = snapshot.moved_places(self.places, relations)
        self.places = relations.select("database", "relation", "file", "place")
        found: list[tuple[int, int, str | None]] = []
        for connection, server in link.pairs:
            wanted = [relation for database, relation in fresh if database == server.database]
            rows = connection.execute(statements.SQL["names"].encode(), [wanted]).fetchall() if wanted else []
            found += [(server.database, row[0], self._named(row)) for row in rows]
        found += [(database, relation, None) for database, relation in gone]
        if not first and (moved := len(fresh) + len(gone)):
            self.events.append(("placement", None, None, str(moved)))
        schema = {"database": pl.Int64, "relation": pl.Int64, "text": pl.String}
        return kept.rows_of(kept.NAME, pl.DataFrame(found, schema=schema, orient="row"), window=self.window)

    def _named(self, row: tuple[object, ...]) -> str:
        _, schema, name, kind, owner, tablespace, path, location, parent, kept_for, scans = row
        hidden = {"i": "index", "t": "toast"}.get(str(kind), "table")
        return json.dumps({
            "schema": self.mask("schema", str(schema)) if schema not in {"public", "pg_catalog", "pg_toast"} else schema,
            "name": self.mask(hidden, str(name)) if schema != "pg_catalog" else name,
            "kind": kind,
            "owner": owner,
            "tablespace": tablespace if str(tablespace).startswith("pg_") else self.mask("tablespace", str(tablespace)),
            "path": path,
            "location": self.mask("path", str(location)),
            "parent": parent,
            "kept": kept_for,
            "all_scans": scans,
        })  # fmt: skip

    def _sizes(self, link: Link, after: snapshot.Snapshot) -> list[pl.DataFrame]:
        """Return sizes once an hour, of the relations that are read most."""
        if time.monotonic() - link.sized_s < SIZES_S:
            return []
        link.sized_s, found = time.monotonic(), []
        for connection, server in link.pairs:
            read = after.views[RELATION].rows.filter(pl.col("fetched") > pl.col("hits"), database=server.database)
            wanted = read.sort(pl.col("fetched") - pl.col("hits"), descending=True)["relation"].head(MOST_SIZES).to_list()
            measured, sent = snapshot.sizes(connection, wanted)
            link.sent += sent if connection is link.pairs[0][0] else 0
            found += [(server.database, oid, float(size)) for oid, size in measured.items()]
        schema = {"database": pl.Int64, "relation": pl.Int64, "value": pl.Float64}
        return [kept.rows_of(kept.SIZE, pl.DataFrame(found, schema=schema, orient="row"), window=self.window)]


def watch(request: Request, ready: Callable[[], None] = lambda: None, service: ServiceTimes = NO_SERVICE_TIMES) -> Path:
    """Watch, and return the activity file; a watch that was killed goes on where its last segment ends."""
    segments, mask = kept.Segments(request.out), Mask(request.mask)
    first, server = connect(request.dsn)  # what is refused is refused before a folder is made
    closed(first)
    going = Watch(request, segments, mask, window=segments.begin())
    if going.window:
        going.watched_s = _resumed(going, segments, server)
    with _stopping(going):
        going.run(ready)
    if not segments.count():
        raise InputError("watch", rule="ended before its first window", remedy="watch for longer")
    return segments.merge(answer(request.out, service).model_dump_json())


def _resumed(going: Watch, segments: kept.Segments, server: Server) -> float:
    there = segments.rows(kept.SERVER, kept.SPAN)
    before = dict(there.filter(view=kept.SERVER).select("entity", "text").iter_rows())
    if before and before.get("mask", "") != going.mask.digest:
        raise InputError("--mask", rule=f"must be the key file with which {segments.folder} was begun, or none", remedy="name that file")
    if before and any(before.get(fact) != str(getattr(server, fact)) for fact in ("database", "version", "system")):
        rule, remedy = "has segments of another server or database", f"choose another file, or remove {segments.folder}"
        raise InputError("--out", value=str(segments.path), rule=rule, remedy=remedy)
    spans = there.filter(view=kept.SPAN)
    if not spans.is_empty():
        lost_s = (datetime.now(UTC) - datetime.fromisoformat(str(spans["text"].max()))).total_seconds()
        going.events.append(("gap", None, max(0.0, lost_s), "the watch was ended"))
    say(f"goes on with {segments.folder}, which has {going.window} windows")
    return float(spans.filter(entity=RELATION)["value"].sum())


@contextmanager
def _stopping(going: Watch) -> Iterator[None]:
    """End with what was watched on Ctrl-C or SIGTERM."""

    def stop(*_: object) -> None:
        going.stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
