"""pgbench: its database made and aged, and its load run in the background with every transaction logged."""

import math
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Protocol, Self

import polars as pl

from tierwise.core.files import scratch_folder
from tierwise.core.sql_files import named_statements
from tierwise.core.vocabulary import Layout
from tierwise.postgres.cluster import DATABASE, PORT, SUPERUSER, Cluster
from tierwise.postgres.processes import socket_folder
from tierwise.postgres.settings import Connection
from tierwise.postgres.workspace import CommandError

SQL: Final = named_statements(__package__, "pgbench.sql")
TABLES: Final = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history")
INDEXES: Final = ("pgbench_accounts_pkey", "pgbench_branches_pkey", "pgbench_tellers_pkey")
ROWS_PER_SCALE: Final = 100_000
ROWS_PER_PAGE: Final = 61  # accounts in one page, as pgbench fills it
TELLERS: Final = 10  # tellers of each branch, as pgbench makes them
AGED_ROWS: Final = 8
"""One in this many branches and tellers is moved out of its page: several clients update rows of such a page at the same time."""
TRANSACTIONS: Final = {"client": pl.Int32, "ended_s": pl.Float64, "latency_s": pl.Float64}
"""Columns of a load's transactions: ends in seconds of the Unix epoch, to the microsecond."""
SESSIONS: Final = 4  # sessions that fill the caches together
LONGEST_S: Final = 24 * 3600
POLL_S: Final = 0.001
Statements = Literal["simple", "prepared"]
END_S: Final = 600  # how long the last transactions may take: they wait for the tiers' delays


def relations(partitions: int = 0) -> tuple[str, ...]:
    if not partitions:
        return (*TABLES, *INDEXES)
    accounts = tuple(f"pgbench_accounts_{number}" for number in range(1, partitions + 1))
    return (*accounts, *TABLES[1:], *(f"{name}_pkey" for name in accounts), *INDEXES[1:])


def initialise(cluster: Cluster, scale: int, *, tables: str, indexes: str, partitions: int = 0) -> None:
    options = ["--initialize", "--quiet", f"--scale={scale}", f"--tablespace={tables}", f"--index-tablespace={indexes}"]
    options += [f"--partitions={partitions}"] if partitions else []
    done = subprocess.run(command(cluster, options), capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(f"pgbench --initialize ended with status {done.returncode}: {done.stderr.strip()}")


def fill(cluster: Cluster, conn: Connection, *, accounts: int, branches: int, tables: str, indexes: str, partitions: int = 0) -> None:
    """Make the tables with `accounts` and `branches`, each with its tellers: clients of a small bank would wait for each other's rows."""
    scale = math.ceil(accounts / ROWS_PER_SCALE)
    initialise(cluster, scale, tables=tables, indexes=indexes, partitions=partitions)
    if accounts < scale * ROWS_PER_SCALE:
        keep_accounts(conn, accounts)
    conn.execute(f"INSERT INTO pgbench_branches (bid, bbalance) SELECT bid, 0 FROM generate_series({scale + 1}, {branches}) AS bid")
    tellers = f"generate_series({TELLERS * scale + 1}, {TELLERS * branches}) AS tid"
    conn.execute(f"INSERT INTO pgbench_tellers (tid, bid, tbalance) SELECT tid, (tid - 1) / {TELLERS} + 1, 0 FROM {tellers}")


def move_first_partition(conn: Connection, *, tables: str, indexes: str) -> None:
    conn.execute(f"ALTER TABLE pgbench_accounts_1 SET TABLESPACE {tables}")
    conn.execute(f"ALTER INDEX pgbench_accounts_1_pkey SET TABLESPACE {indexes}")


def scatter(conn: Connection, accounts: int) -> None:
    """Put the accounts in the order of their ranks, so that neighbours in the table have distant keys (`Layout.RANDOM_KEYS`)."""
    conn.execute(f"CREATE INDEX by_rank ON pgbench_accounts (({_rank(accounts)}))")
    conn.execute("CLUSTER pgbench_accounts USING by_rank")
    conn.execute("DROP INDEX by_rank")


def _step(accounts: int) -> int:
    """Distance between the keys of neighbours by rank: a golden section, which spreads any number of them evenly."""
    step = round(accounts * (math.sqrt(5) - 1) / 2)
    while math.gcd(step, accounts) > 1:
        step += 1
    return step


def _rank(accounts: int) -> str:
    return f"(aid - 1)::bigint * {pow(_step(accounts), -1, accounts)} % {accounts}"


def age(conn: Connection, *, scattered: int = 0) -> None:
    """Give every page of the accounts space for one more row, of branches and tellers for several, as after long use.

    Updates of freshly filled pages would slow a benchmark down for minutes. `scattered`: how many accounts were `scatter`ed.
    """
    place = _rank(scattered) if scattered else "aid - 1"
    conn.execute(f"UPDATE pgbench_accounts SET abalance = abalance WHERE ({place}) % {ROWS_PER_PAGE} = 0")
    conn.execute(f"UPDATE pgbench_branches SET bbalance = bbalance WHERE bid % {AGED_ROWS} = 0")
    conn.execute(f"UPDATE pgbench_tellers SET tbalance = tbalance WHERE tid % {AGED_ROWS} = 0")
    conn.execute("VACUUM (ANALYZE) pgbench_accounts, pgbench_branches, pgbench_tellers")


def keep_accounts(conn: Connection, accounts: int) -> None:
    conn.execute("DELETE FROM pgbench_accounts WHERE aid > %s", [accounts])
    conn.execute("VACUUM (FULL, ANALYZE) pgbench_accounts")


def fill_caches(cluster: Cluster, lookups: int, *, accounts: int) -> None:
    """Look up random accounts inside the server, as the TPC-B script does, until the caches hold what such a load leaves in them."""
    loop = SQL["fill"].format(lookups=lookups // SESSIONS, accounts=accounts)

    def work(_: int) -> None:
        with cluster.connect() as connection:
            connection.execute(loop)

    with ThreadPoolExecutor(SESSIONS) as pool:
        list(pool.map(work, range(SESSIONS)))


@dataclass(frozen=True)
class Mix:
    """Lookups of single accounts, of which the share `writes` (0 to 1) also updates."""

    writes: float
    skew: float  # exponent of a Zipfian, above 1; 0: uniform
    layout: Layout = Layout.STREWN  # where popular accounts lie; random keys need `scatter`
    strewn_by: int = 1  # seed of the permutation: pgbench's own would make other accounts popular in each load

    def scripts(self, accounts: int) -> dict[str, tuple[str, int]]:
        rank = f"(random_zipfian(1, {accounts}, {self.skew}) - 1)" if self.skew else f"random(0, {accounts - 1})"
        drawn = {
            Layout.STREWN: f"permute({rank}, {accounts}, {self.strewn_by})",
            Layout.RECENT: rank,
            Layout.RANDOM_KEYS: f"{rank} * {_step(accounts)} % {accounts}",
        }[self.layout]
        weights = {"look": round(100 * (1 - self.writes)), "update": round(100 * self.writes)}
        return {name: (SQL[name].format(drawn=drawn), weight) for name, weight in weights.items() if weight}


@dataclass(frozen=True)
class TpcB:
    """The statements of pgbench's TPC-B-like script over `branches` and their tellers, however many accounts there are."""

    branches: int

    def scripts(self, accounts: int) -> dict[str, tuple[str, int]]:
        return {"tpcb": (SQL["tpcb"].format(accounts=accounts, branches=self.branches, tellers=TELLERS * self.branches), 1)}


class Script(Protocol):
    def scripts(self, accounts: int) -> dict[str, tuple[str, int]]: ...


class Load:
    """A running pgbench; `transactions` (`TRANSACTIONS`) holds its log afterwards, if `logged`.

    `script` is run over `accounts` (default: all of `scale`). By the protocol ``simple`` each statement is planned anew, for which the
    server looks up the length of the table's file, behind every write to it. `within`: a context to start it in. It is
    ended by the signal of its own clock, so that each client finishes its transaction, or by itself after `transactions`.
    """

    def __init__(
        self,
        cluster: Cluster,
        script: Script,
        *,
        clients: int,
        seed: int,
        scale: int = 1,
        accounts: int | None = None,
        protocol: Statements = "simple",
        logged: bool = True,
        within: AbstractContextManager[None] | None = None,
        transactions: int | None = None,
    ):
        self._cluster, self._script, self._accounts = cluster, script, accounts or scale * ROWS_PER_SCALE
        self._logged, self._within, self._by_clock = logged, within or nullcontext(), transactions is None
        end = f"--transactions={math.ceil(transactions / clients)}" if transactions else f"--time={LONGEST_S}"
        self._options = ["--no-vacuum", f"--client={clients}", f"--protocol={protocol}", end, f"--random-seed={seed}"]
        self.transactions = pl.DataFrame(schema=TRANSACTIONS)

    def __enter__(self) -> Self:
        self._held = ExitStack()
        self._folder = self._held.enter_context(scratch_folder("pgbench-", within=self._cluster.folder))
        log = ["--log", f"--log-prefix={self._folder}/log"] if self._logged else []
        with self._within:
            self._process = subprocess.Popen(
                command(self._cluster, [*self._options, *self._write_scripts(), *log]),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        if self._by_clock:  # just before its clients connect, pgbench handles the signal: earlier, it would be killed
            deadline_s = time.monotonic() + END_S
            while self.running and not _handles(self._process.pid, signal.SIGALRM):
                if time.monotonic() > deadline_s:
                    self.__exit__(CommandError, None, None)
                    raise CommandError(f"pgbench did not begin within {END_S} s: its first connection waits for the server")
                time.sleep(POLL_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._end()
            else:
                self._process.kill()
                self._process.communicate()
        finally:
            self._held.close()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def _write_scripts(self) -> list[str]:
        options = []
        for name, (text, weight) in self._script.scripts(self._accounts).items():
            (self._folder / f"{name}.sql").write_text(text, encoding="utf-8")
            options.append(f"--file={self._folder / name}.sql@{weight}")
        return options

    def _end(self) -> None:
        if self._by_clock:
            self._process.send_signal(signal.SIGALRM)
        said, _ = self._process.communicate(timeout=END_S if self._by_clock else LONGEST_S)
        if self._process.returncode:
            raise CommandError(f"pgbench ended with status {self._process.returncode}: {said.strip()}")
        self.transactions = _read_logs(self._folder)


def _handles(pid: int, number: signal.Signals) -> bool:
    with suppress(OSError):  # ended meanwhile
        caught = re.search(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(encoding="ascii"), re.MULTILINE)
        return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)
    return False


def command(cluster: Cluster, options: list[str]) -> list[str]:
    program, socket = cluster.binaries.path("pgbench"), socket_folder(cluster.folder)
    return [str(program), f"--host={socket}", f"--port={PORT}", f"--username={SUPERUSER}", *options, DATABASE]


def _read_logs(folder: Path) -> pl.DataFrame:
    columns = ["client", "number", "latency_us", "script", "epoch_s", "epoch_us"]
    logs = [pl.read_csv(path, separator=" ", has_header=False, new_columns=columns) for path in folder.glob("log.*") if path.stat().st_size]
    if not logs:
        return pl.DataFrame(schema=TRANSACTIONS)
    ended_s, latency_s = pl.col("epoch_s") + pl.col("epoch_us") / 1e6, pl.col("latency_us") / 1e6
    return pl.concat(logs).select(pl.col("client").cast(pl.Int32), ended_s=ended_s, latency_s=latency_s).sort("ended_s", "client")
