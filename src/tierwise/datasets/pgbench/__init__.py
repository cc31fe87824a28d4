"""pgbench's bank: pgbench fills it itself, on the server of a study, so that nothing is fetched; a run keeps its scale and its rows."""

from dataclasses import dataclass
from typing import Any, Final

NAME: Final = "pgbench"


@dataclass(frozen=True)
class Bank:
    """A database that ``pgbench --initialize --scale`` fills: `rows` accounts; `size` is its name among those of the same run."""

    size: str
    scale: int
    rows: int
    sha256: None = None  # there is no file: the rows are in the server alone

    @property
    def name(self) -> str:
        return f"{NAME} {self.size}"

    @property
    def provenance(self) -> dict[str, Any]:
        return {"source": "pgbench", "what": "accounts, as pgbench --initialize makes them", "scale": self.scale, "rows": self.rows}
