"""The manifest of a run: what was asked, on what, with what, and whether it is complete."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tierwise.core.errors import InputError
from tierwise.core.files import write_whole
from tierwise.core.host import Host
from tierwise.core.toml import Strict, validate

MANIFEST = "manifest.json"


class DatasetRecord(Strict):
    """Where the data of a run came from."""

    name: str
    rows: int
    sha256: str
    provenance: dict[str, Any]


class StudyRecord(Strict):
    """One study's share of a run."""

    name: str
    pair: str
    trials: tuple[str, ...]
    blocks: int
    settings: dict[str, str]
    server_version: str
    facts: dict[str, Any]  # what the study found out once: sizes of relations, plans, planner estimates


class Sample(Strict):
    """How many rows of a table ship with a run that was made small, of how many, and with which seed they were drawn."""

    rows: int
    of: int
    seed: int


class Manifest(Strict):
    """Everything that a number of this run needs to be believed or repeated."""

    run_id: str
    status: Literal["running", "complete"]
    inputs_sha256: str
    profile: dict[str, Any]
    pairs: dict[str, dict[str, Any]]  # pair name -> its file, with every device file that it names
    reader_pair: str | None  # the pair that the reader named: verdicts in the column `here`
    seed: int
    dataset_source: str
    code_version: str
    method_sha256: str  # over the sources of the measuring side
    host: Host
    packages: dict[str, str]
    started_at: datetime
    finished_at: datetime | None = None
    datasets: tuple[DatasetRecord, ...] = ()
    studies: tuple[StudyRecord, ...] = ()
    calibrations: dict[str, dict[str, float]] = Field(default_factory=dict)  # "pair/tier" -> figures with their units in the names
    samples: dict[str, Sample] = Field(default_factory=dict)  # "table/study" -> what of it a run that was made small has kept

    def save(self, folder: Path) -> None:
        """Write to `folder`, whole or not at all."""
        write_whole(folder / MANIFEST, self.model_dump_json(indent=2) + "\n")


def load_manifest(folder: Path) -> Manifest:
    """Read `folder`'s manifest; `InputError` where there is none, it is no JSON, or it breaks the schema."""
    path = folder / MANIFEST
    where = f"{folder.name}/{MANIFEST}"
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(where, rule=f"a run needs a manifest ({error.strerror})") from error
    except ValueError as error:
        raise InputError(where, rule=f"must be JSON ({error})") from error
    return validate(table, Manifest, where=where)
