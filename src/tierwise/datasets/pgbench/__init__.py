"""pgbench's bank: pgbench fills it itself, on the server of a study, so that nothing is fetched; a run keeps its branches and its rows."""

from dataclasses import dataclass
from typing import Any, Final

NAME: Final = "pgbench"


@dataclass(frozen=True)
class Bank:
    """A database of pgbench's tables: `rows` accounts, whatever the number of `branches`; `size` is its name among those of a run."""

    size: str
    branches: int
    rows: int
    sha256: None = None  # there is no file: the rows are in the server alone

    @property
    def name(self) -> str:
        return f"{NAME} {self.size}"

    @property
    def provenance(self) -> dict[str, Any]:
        return {"source": "pgbench", "what": "accounts, as pgbench --initialize makes them", "branches": self.branches, "rows": self.rows}
