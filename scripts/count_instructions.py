"""Count what a hot count of the census study executes with its index in either of two tablespaces: ``PYTHONPATH=src .venv/bin/python
scripts/count_instructions.py``. Needs valgrind, because few virtual machines have counters of instructions.

Statements M4 and M5 say that a count from memory depends on where the index is stored. A server without other processes repeats
the count under valgrind's cachegrind; the difference of two runs of `FEW` and `MANY` counts tells the instructions of one.
"""

import re
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from tierwise.core import paths
from tierwise.datasets import census
from tierwise.postgres.binaries import find_binaries
from tierwise.postgres.cluster import DATABASE, Cluster
from tierwise.postgres.loading import copy_parquet
from tierwise.postgres.relations import create_tablespace, move
from tierwise.postgres.workspace import open_workspace, server_account
from tierwise.studies.index_placement.measuring.protocol import statement

FRACTION, SEED, FEW, MANY = 0.02, 1, 2, 12
PLACES: Final = ("one", "other")
EXECUTED: Final = re.compile(r"I\s+refs:\s+([\d,]+)")


def executed(cluster: Cluster, query: str, times: int) -> int:
    """Return the instructions of a server without other processes that answers `query` `times` times."""
    server: list[str | Path] = [cluster.binaries.folder / "postgres", "--single", "-D", cluster.data, "-c", "jit=off", DATABASE]
    valgrind: list[str | Path] = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    script = cluster.folder / "counts.sql"
    script.write_text(f"{query}\n" * times, encoding="utf-8")
    script.chmod(0o644)
    cluster.account.own(script)
    output = cluster.account.run(["sh", "-c", '"$@" < "$0" 2>&1', script, *valgrind, *server], folder=cluster.folder)
    found = EXECUTED.search(output)
    if found is None:
        raise SystemExit(output[-2000:])
    return int(found[1].replace(",", ""))


def main() -> None:
    folder = Path(mkdtemp(dir=open_workspace()))
    folder.chmod(0o755)
    cluster = Cluster(folder / "server", find_binaries(), server_account())
    data = census.acquire("synthetic", fraction=FRACTION, seed=SEED, folder=paths.data() / "external" / "census")
    try:
        cluster.create()
        for place in PLACES:
            cluster.start({"autovacuum": "off", "shared_buffers": "256MB"})
            with cluster.connect() as session:
                if place == PLACES[0]:
                    for each in PLACES:
                        create_tablespace(session, each, folder / each)
                    session.execute(census.ddl("census"))
                    copy_parquet(session, data.parquet, "census", list(census.TYPES))
                    session.execute("CREATE INDEX pob ON census (pob)")
                    session.execute("VACUUM (FREEZE, ANALYZE) census")
                move(session, "pob", place)
            cluster.stop()
            for state in census.STATES:
                few, many = (executed(cluster, statement(state), times) for times in (FEW, MANY))
                print(f"{state}, index in tablespace {place}: {(many - few) / (MANY - FEW):,.0f} instructions a count")
    finally:
        cluster.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
