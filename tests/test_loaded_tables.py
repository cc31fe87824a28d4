"""Copies of one table: what the planner knows of one is what it knows of the other."""

from dataclasses import dataclass

from psycopg import sql

from tierwise.bench.loaded_tables import take_statistics
from tierwise.postgres.cluster import Cluster
from tierwise.postgres.settings import Connection, loading_settings


@dataclass(frozen=True)
class Drawn:
    """A table that is too large for ANALYZE to see all of it."""

    name: str = "Drawn"
    rows: int = 50_000

    @property
    def columns(self) -> list[str]:
        return ["number", "value"]

    def ddl(self) -> str:
        return "CREATE TABLE drawn (number int, value double precision)"

    def indexes(self) -> dict[str, str]:
        return {"drawn_number": "CREATE INDEX drawn_number ON drawn (number)"}


def known(connection: Connection, schema: str) -> list[tuple[object, ...]]:
    columns = "attname, n_distinct, correlation, most_common_vals::text, histogram_bounds::text"
    return connection.execute(
        sql.SQL(f"SELECT {columns} FROM pg_stats WHERE schemaname = %s AND tablename = 'drawn' ORDER BY attname"), [schema]
    ).fetchall()


def test_a_copy_takes_the_statistics_of_another(cluster18: Cluster) -> None:
    table = Drawn()
    cluster18.start(loading_settings())
    try:
        with cluster18.connect() as connection:
            for schema in ("one", "other"):
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
                connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
                for command in (table.ddl(), *table.indexes().values()):
                    connection.execute(sql.SQL(command))
                connection.execute("SELECT setseed(0.5)")
                connection.execute(
                    "INSERT INTO drawn SELECT (1000 * random())::int, random() FROM generate_series(1, %s)".replace("%s", str(table.rows))
                )
                connection.execute("ANALYZE drawn")
            assert known(connection, "one") != known(connection, "other"), "ANALYZE draws a sample"
            take_statistics(connection, [table], "other", of="one")
            assert len(known(connection, "other")) == 2
            assert known(connection, "one") == known(connection, "other")
            connection.execute("DROP SCHEMA one, other CASCADE")
    finally:
        cluster18.stop()
