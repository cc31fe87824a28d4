"""Copies of a table that differ in one thing each, made once and whole."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tierwise.postgres.settings import Connection
from tierwise.postgres.table_copies import Build, CopiedTable, is_complete, schema_of

ROWS = 20_000
BUILDS = {"vacuumed": Build(vacuumed=True)}


def load(conn: Connection) -> None:
    conn.execute(f"INSERT INTO people (Key, rest) SELECT i / 500 + i % 3, repeat('x', 100) FROM generate_series(1, {ROWS}) AS i")


TABLE = CopiedTable(
    "people", "CREATE TABLE people (Key int, rest text, id serial PRIMARY KEY)", ("Key", "rest"), "id", "by_key", "key", 10, load
)


@pytest.fixture
def clean(conn: Connection) -> Iterator[Connection]:
    yield conn
    for name in ("plain", *BUILDS):
        conn.execute(f"DROP SCHEMA IF EXISTS {schema_of('pg_default', name, BUILDS.get(name, Build()))} CASCADE")


def test_a_vacuumed_copy_differs_in_the_pages_that_all_see_and_in_nothing_else(clean: Connection) -> None:
    heap, index = _pages(clean, "plain")
    assert _pages(clean, "vacuumed") == (heap, index)
    assert _keys(clean, "vacuumed") == _keys(clean, "plain")
    visible = clean.execute("SELECT relnamespace::regnamespace::text, relallvisible FROM pg_class WHERE relname = 'people'").fetchall()
    assert [(schema, count) for schema, count in visible if count] == [("on_pg_default_vacuumed", heap)]


def test_a_copy_is_made_once(clean: Connection) -> None:
    TABLE.use(clean, "pg_default", "vacuumed", BUILDS["vacuumed"])
    made = _file(clean)
    TABLE.use(clean, "pg_default", "vacuumed", BUILDS["vacuumed"])
    assert _file(clean) == made


def test_what_a_kill_left_half_made_is_made_anew(clean: Connection) -> None:
    def killed(_: Connection) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace(TABLE, load=killed).use(clean, "pg_default", "", Build())
    assert not is_complete(clean, "on_pg_default")
    TABLE.use(clean, "pg_default", "", Build())
    clean.execute("COMMENT ON SCHEMA on_pg_default IS NULL; DELETE FROM people")  # as if killed between the rows and the mark
    TABLE.use(clean, "pg_default", "", Build())
    assert is_complete(clean, "on_pg_default")
    assert len(_keys(clean, "plain")) == ROWS


def _pages(conn: Connection, name: str) -> tuple[int, int]:
    TABLE.use(conn, "pg_default", name, BUILDS.get(name, Build()))
    return tuple(conn.execute("SELECT pg_relation_size('people') / 8192, pg_relation_size('by_key') / 8192").fetchall()[0])


def _keys(conn: Connection, name: str) -> list[int]:
    TABLE.use(conn, "pg_default", name, BUILDS.get(name, Build()))
    return [key for (key,) in conn.execute("SELECT key FROM people ORDER BY ctid")]


def _file(conn: Connection) -> str:
    (path,) = conn.execute("SELECT pg_relation_filepath('people')").fetchall()[0]
    return str(path)
