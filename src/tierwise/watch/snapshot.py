"""Snapshots of a server's counters, and what rose between two: each view has its own time and epoch."""

import io
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl
import psycopg

from tierwise.postgres.settings import Connection
from tierwise.watch import statements
from tierwise.watch.connecting import Server
from tierwise.watch.statements import DATABASE, RELATION, SOURCES, STATEMENTS, columns, counters

KEYS: Final = {RELATION: ("database", "relation")}
ANY: Final = ("entity",)
PLACE: Final = ("file", "place", "pages")  # columns of a relation that are no counters
MOST_STATEMENTS: Final = 50  # queries that are kept of a window, by the pages that they read


@dataclass(frozen=True)
class View:
    """One view as it was at `at_s` (monotonic), with when its counters were reset, by entity."""

    at_s: float
    rows: pl.DataFrame
    resets: Mapping[str, str | None] = field(default_factory=dict)


@dataclass
class Snapshot:
    views: dict[str, View]
    database: int
    own_transactions: int = 0
    own_s: float = 0.0


@dataclass(frozen=True)
class Rise:
    """What rose: rows of counters (those that moved), and which entities began a new epoch, whose window is lost."""

    seconds: float
    rows: pl.DataFrame
    broken: tuple[str, ...] = ()


def take(connections: Iterable[tuple[Connection, Server]], own: tuple[int, float] = (0, 0.0)) -> Snapshot:
    """Read every view; relations of each connection's database, all else by the first."""
    pairs = list(connections)
    (first, server), begun_s = pairs[0], time.monotonic()
    views = {}
    for name in SOURCES:
        if (name != STATEMENTS or server.statements) and (statement := statements.view(name, server.version)):
            views[name] = _view(first, name, statement, server)
    began_s = time.monotonic()
    found = [_relations(first, server)]
    own_s = time.monotonic() - begun_s  # other connections' time and transactions count in their databases
    found += [_relations(connection, one) for connection, one in pairs[1:]]
    views[RELATION] = View((began_s + time.monotonic()) / 2, pl.concat(found))
    return Snapshot(views, server.database, own[0] + len(views), own[1] + own_s)


def _view(connection: Connection, name: str, statement: str, server: Server) -> View:
    known = columns(name, server.version)
    at_s, rows = time.monotonic(), connection.execute(statement.encode()).fetchall()
    schema = {"entity": pl.String, **{column.counter: pl.Float64 for column in known}}
    frame = pl.DataFrame([(key, *values) for key, _, *values in rows], schema=schema, orient="row")
    hidden = [column.counter for column in known if column.timed and not server.timed]
    return View(at_s, frame.drop(hidden), {key: reset for key, reset, *_ in rows})


def _relations(connection: Connection, server: Server) -> pl.DataFrame:
    with connection.cursor() as cursor, cursor.copy(statements.relations(server.version).encode()) as copied:
        text = b"".join(bytes(block) for block in copied)
    schema = dict.fromkeys(("relation", *PLACE, *counters(RELATION)), pl.Int64)
    frame = pl.read_csv(io.BytesIO(text), schema=schema)
    return frame.select(pl.lit(server.database, pl.Int64).alias("database"), pl.all())


def rises(before: Snapshot, after: Snapshot) -> dict[str, Rise]:
    """Return by view what rose. A counter that fell, or a reset, ends an epoch: nothing is counted for it, and it is named.

    A reset of one table moves the database's `stats_reset` too, so only counters that fell show that the database was reset.
    """
    found = {name: _risen(name, before.views[name], view) for name, view in after.views.items() if name in before.views}
    broken = found[DATABASE].broken
    if str(after.database) in broken or broken == ("all",):
        lost = {name: Rise(found[name].seconds, found[name].rows.clear(), ("all",)) for name in (DATABASE, RELATION)}
        return found | lost
    others = pl.col("database").cast(pl.String).is_in(list(broken))
    return found | {RELATION: replace(found[RELATION], rows=found[RELATION].rows.filter(~others))}


def _reset(before: View, after: View) -> set[str]:
    return {key for key, reset in after.resets.items() if key in before.resets and before.resets[key] != reset}


def _risen(name: str, before: View, after: View) -> Rise:
    keys = KEYS.get(name, ANY)
    counted = [column for column in after.rows.columns if column not in {*keys, *PLACE} and column in before.rows.columns]
    joined = after.rows.join(before.rows.select(*keys, *counted), on=keys, how="left", suffix=" before")
    old = pl.any_horizontal(pl.col(f"{column} before").is_not_null() for column in counted)
    falls = pl.any_horizontal(pl.col(column) < pl.col(f"{column} before") for column in counted).fill_null(value=False)
    is_reset = pl.lit(value=False) if name in {DATABASE, RELATION} else pl.col("entity").is_in(sorted(_reset(before, after)))
    marked = joined.with_columns(broken=falls | is_reset)
    fallen = marked.filter("broken").select(keys[-1]).to_series().cast(pl.String).to_list()
    seconds = after.at_s - before.at_s
    if len(fallen) > max(1, joined.height // 2):
        return Rise(seconds, after.rows.clear(), ("all",))
    rise = [(pl.col(column) - pl.col(f"{column} before").fill_null(0)).alias(column) for column in counted]
    kept = [column for column in PLACE if column in after.rows.columns]
    new = pl.lit(value=True) if name in {RELATION, STATEMENTS} else old  # a relation that is new counts from zero
    rows = marked.filter(~pl.col("broken") & new).select(*keys, *kept, *rise)
    moved = pl.any_horizontal(pl.col(column).fill_null(0) != 0 for column in counted)
    rows = rows.filter(moved)
    return Rise(seconds, rows.top_k(MOST_STATEMENTS, by="read_pages") if name == STATEMENTS else rows, tuple(fallen))


def moved_places(before: pl.DataFrame | None, after: pl.DataFrame) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return (database, relation) of relations that are new or lie in another file or tablespace, and of those that are gone."""
    if before is None:
        return list(after.select("database", "relation").iter_rows()), []
    keys = ["database", "relation"]
    same = after.join(before.select(*keys, "file", "place"), on=[*keys, "file", "place"], how="anti")
    gone = before.join(after.select(keys), on=keys, how="anti")
    return list(same.select(keys).iter_rows()), list(gone.select(keys).iter_rows())


def sizes(connection: Connection, relations: Iterable[int]) -> tuple[dict[int, int], int]:
    """Return the bytes of relations and their TOAST, without what a session locks or wants to lock, and how many statements that took."""
    locked = [oid for (oid,) in connection.execute(statements.SQL["locked"].encode())]
    found: dict[int, int] = {}
    sent = 1
    for oid in relations:
        if oid in locked:
            continue
        sent += 1
        try:
            rows = connection.execute(statements.SQL["size"].encode(), [locked, oid]).fetchall()
        except psycopg.errors.LockNotAvailable:  # a lost race: the size stays unknown
            continue
        found |= {part: size for part, size in rows if size is not None}
    return found, sent
