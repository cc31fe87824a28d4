"""Connections of a watch: refused where they would show something else, or show a password."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import conninfo

from tierwise.core import host
from tierwise.core.errors import InputError, TierwiseError, one_line
from tierwise.postgres.settings import Connection
from tierwise.watch import statements
from tierwise.watch.statements import NEWEST, OLDEST, STATEMENTS

WHERE: Final = "the server to watch"
SECRETS: Final = ("password", "sslpassword")
TIMEOUT_S: Final = 10


@dataclass(frozen=True)
class Server:
    """What does not change while a server runs, but for a promotion."""

    database: int
    name: str
    started: str
    standby: bool
    version_text: str
    timed: bool
    shared_buffers: int
    replicas: int
    statements: bool
    service: str
    superuser: bool
    counted_days: float | None
    system: str
    io_workers: int | None  # None before version 18, and with another method of I/O
    version: int
    host: str  # mark of this machine if the server runs on it, else empty


def check(dsn: str) -> None:
    """Refuse a connection string that is none, or that has a password: every user of the machine could read it."""
    try:
        parts = conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        rule, remedy = "must be a connection string or URI of PostgreSQL", "tierwise watch 'host=db.example dbname=shop user=watcher'"
        raise InputError("DSN", rule=rule, remedy=remedy) from error
    if any(parts.get(secret) for secret in SECRETS):
        rule = "must not contain a password, because other users see command lines"
        raise InputError("DSN", rule=rule, remedy="use PGPASSFILE, PGPASSWORD or a service file")


def connect(dsn: str, *, database: str | None = None) -> tuple[Connection, Server]:
    """Open a read-only session, or refuse a server that must not be watched: a pooler, missing rights, another version, virtual time."""
    check(dsn)
    try:
        connection = _opened(dsn, database)
    except psycopg.OperationalError as error:
        remedy = "check host, port, database and user; psql with the same string shows whether the server answers"
        raise InputError(WHERE, rule=f"cannot be reached ({one_line(str(error))})", remedy=remedy) from error
    try:
        server = _examined(connection)
    except psycopg.Error as error:
        connection.close()
        raise InputError(WHERE, rule=f"refuses a statement ({one_line(str(error))})", remedy="see docs/watch-security.md") from error
    except TierwiseError:
        connection.close()
        raise
    return connection, server


def _opened(dsn: str, database: str | None) -> Connection:
    changed = {} if database is None else {"dbname": database}
    return psycopg.connect(
        conninfo.make_conninfo(dsn, **changed),
        autocommit=True,
        prepare_threshold=None,
        connect_timeout=TIMEOUT_S,
        application_name="tierwise",
        client_encoding="utf8",  # a database in SQL_ASCII has names without an encoding
    )


def _examined(connection: Connection) -> Server:
    version = connection.info.server_version // 10_000
    if _one(connection, statements.SQL["process"]) != connection.info.backend_pid:
        rule, remedy = "is reached through a pooler, which hides sessions", "connect directly to PostgreSQL, by its own host and port"
        raise InputError(WHERE, rule=rule, remedy=remedy)
    if not OLDEST <= version <= NEWEST:
        raise InputError(WHERE, field="version", value=version, rule=f"must be PostgreSQL {OLDEST} to {NEWEST}")
    if not _one(connection, statements.SQL["rights"]):
        user = connection.info.user
        raise InputError(WHERE, rule=f"does not show its statistics to {user}", remedy=f'GRANT pg_monitor TO "{user}"')
    if (clock := _one(connection, statements.SQL["clock"])) not in {None, "", "real"}:
        rule = "hides its waiting: tierwise runs it in virtual time"
        raise InputError(WHERE, field="tierwise.clock", value=clock, rule=rule, remedy="watch a server in real time")
    for statement in statements.SETUP:
        connection.execute(statement.encode())
    row = connection.execute(statements.SQL["server"].encode()).fetchone()
    assert row is not None  # the database that the session is in
    server = server_of(row, version, host.mark() if _is_here(connection.info.backend_pid) else "")
    return replace(server, statements=server.statements and _shows_statements(connection, version))


def _shows_statements(connection: Connection, version: int) -> bool:
    """Return whether pg_stat_statements is loaded, on the search path, and updated to what this version has."""
    try:
        connection.execute((statements.view(STATEMENTS, version) or "").encode())
    except psycopg.Error:
        return False
    return True


def _is_here(backend: int) -> bool:
    """Return whether the process of a session runs on this machine, which an address does not tell: a tunnel ends on it too."""
    try:
        return Path(f"/proc/{backend}/comm").read_text(encoding="utf-8").startswith("postgres")
    except OSError:
        return False


def server_of(row: Sequence[Any], version: int, host: str) -> Server:
    """Return the row of the statement ``server`` by name."""
    return Server(**dict(zip((field.name for field in fields(Server)), (*row, version, host), strict=True)))


def _one(connection: Connection, statement: str) -> object:
    row = connection.execute(statement.encode()).fetchone()
    return None if row is None else row[0]


def databases(connection: Connection) -> list[str]:
    """Return the databases that the role may connect to."""
    return [name for (name,) in connection.execute(statements.SQL["databases"].encode())]


def closed(connection: Connection) -> None:
    with suppress(psycopg.Error):
        connection.close()
