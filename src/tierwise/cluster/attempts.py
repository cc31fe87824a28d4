"""Attempts at replicates, as the store keeps them: the tables of an attempt, then its manifest, which makes them count.

Names are ``RUN/STUDY/REPLICATE/ATTEMPT.parquet`` for the raw rows, ``ATTEMPT.TABLE.parquet`` for the tables beside the rows, and
``ATTEMPT.json`` for the manifest. An attempt's name is a new UUID, so that no write replaces an object.
A worker keeps a whole attempt on its disk until the store has it: a refused write, or a killed worker, costs no measured replicate.
"""

import hashlib
import io
import json
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import polars as pl
from pydantic import Field

from tierwise.cluster.store import PATIENCE_S, Store, open_store, write_patiently
from tierwise.core.errors import InputError, TierwiseError
from tierwise.core.host import Host
from tierwise.core.progress import say
from tierwise.core.toml import Strict, validate
from tierwise.timings.manifest import DatasetRecord, StudyRecord
from tierwise.timings.references import FORMAT_VERSION

ROWS: Final = "rows"
SUFFIX: Final = ".parquet"


class StoredObject(Strict):
    size_bytes: int
    sha256: str


class Attempt(Strict):
    """The manifest of one attempt to measure a replicate of a study on all of the study's pairs."""

    format_version: int = FORMAT_VERSION
    run_id: str
    study: str
    replicate: int
    attempt: str  # a UUID
    outcome: Literal["whole", "failed"]
    error: str = ""
    objects: dict[str, StoredObject] = Field(default_factory=dict)  # table -> what must be in the store
    machine: str  # `machine.machine_id`
    host: Host
    code_version: str
    fingerprint: str  # of the study
    prices: str  # digest of the price book that the machine had
    records: tuple[StudyRecord, ...] = ()  # one for each pair
    datasets: tuple[DatasetRecord, ...] = ()
    calibrations: dict[str, dict[str, float]] = Field(default_factory=dict)
    started_at: datetime
    finished_at: datetime

    @property
    def place(self) -> str:
        return f"{self.run_id}/{self.study}/{self.replicate}"

    def name_of(self, table: str) -> str:
        return f"{self.place}/{self.attempt}{SUFFIX if table == ROWS else f'.{table}{SUFFIX}'}"

    @property
    def name(self) -> str:
        return f"{self.place}/{self.attempt}.json"


@dataclass
class Survey:
    """What the store has of a run: the attempts that count, by study and replicate, and everything else by name, with the reason."""

    counting: dict[tuple[str, int], Attempt] = field(default_factory=dict)
    late: list[Attempt] = field(default_factory=list)
    failed: list[Attempt] = field(default_factory=list)
    ignored: dict[str, str] = field(default_factory=dict)

    def add(self, later: "Survey") -> None:
        self.counting |= later.counting
        self.failed += [one for one in later.failed if one not in self.failed]


def new_name() -> str:
    return str(uuid.uuid4())


def encoded(rows: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    rows.write_parquet(buffer)
    return buffer.getvalue()


def described(content: bytes) -> StoredObject:
    return StoredObject(size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def sealed(attempt: Attempt, tables: Mapping[str, bytes]) -> Attempt:
    return attempt.model_copy(update={"objects": {table: described(content) for table, content in tables.items()}})


def put_attempt(store: Store, attempt: Attempt, tables: Mapping[str, bytes], *, patience_s: float = PATIENCE_S) -> None:
    whole = sealed(attempt, tables)
    contents = {whole.name_of(table): content for table, content in tables.items()}
    contents[whole.name] = whole.model_dump_json(indent=2).encode()
    for name, content in contents.items():
        write_patiently(store, name, content, patience_s=patience_s)


class Surveyor:
    """Surveys a run in a store again and again. It reads each attempt once: an object with a manifest never changes."""

    def __init__(self, store: Store, run_id: str):
        self.store, self.run_id = store, run_id
        self._known: dict[str, Attempt] = {}

    def survey(self, study: str = "") -> Survey:
        """Look at every attempt of a `study`, of one replicate (``study/0``), or of the whole run."""
        sizes = self.store.sizes(f"{self.run_id}/{study}" if study else self.run_id)
        found, explained = Survey(), set[str]()
        for name in sorted(name for name in sizes if name.endswith(".json") and name.count("/") == 3):
            try:
                attempt = self._known.get(name) or self._checked(name, sizes)
            except InputError as error:
                found.ignored[name] = f"{error.field or 'manifest'}: {error.rule}"
                continue
            self._known[name] = attempt
            explained |= {name, *(attempt.name_of(table) for table in attempt.objects)}
            if attempt.outcome == "failed":
                found.failed.append(attempt)
            elif (attempt.study, attempt.replicate) in found.counting:  # names are sorted: the lower UUID counts
                found.late.append(attempt)
            else:
                found.counting[attempt.study, attempt.replicate] = attempt
        for name in sizes.keys() - explained - found.ignored.keys():
            if name.count("/") == 3:
                found.ignored[name] = "no matching manifest"
        return found

    def _checked(self, name: str, sizes: Mapping[str, int]) -> Attempt:
        try:
            table = json.loads(self.store.read(name))
        except ValueError as error:
            raise InputError(name, rule="is not valid JSON") from error
        attempt = validate(table, Attempt, where=name)
        if attempt.name != name or attempt.run_id != self.run_id:
            raise InputError(name, rule="names another attempt")
        if attempt.outcome == "whole" and ROWS not in attempt.objects:
            raise InputError(name, field="objects", rule="has no rows")
        for kind, expected in attempt.objects.items():
            where = attempt.name_of(kind)
            if sizes.get(where) != expected.size_bytes:
                raise InputError(name, field=kind, rule=f"must have {expected.size_bytes} bytes, but has {sizes.get(where, 'none')}")
            if described(self.store.read(where)) != expected:
                raise InputError(name, field=kind, rule="must have the digest of the manifest")
        return attempt


MANIFEST: Final = "attempt.json"
STORE: Final = "store"


def keep(spool: Path, store_url: str, attempt: Attempt, tables: Mapping[str, bytes]) -> Path:
    """Write an attempt below `spool`, its manifest last, and return its folder."""
    folder = spool / attempt.attempt
    folder.mkdir(parents=True)
    for table, content in tables.items():
        (folder / f"{table}{SUFFIX}").write_bytes(content)
    (folder / STORE).write_text(store_url, encoding="utf-8")
    (folder / MANIFEST).write_text(sealed(attempt, tables).model_dump_json(), encoding="utf-8")
    return folder


def hand_over(folder: Path, *, patience_s: float = PATIENCE_S) -> None:
    """Store the attempt in `folder`, then remove it; what a killed worker has left half written is removed only."""
    if (folder / MANIFEST).exists():
        attempt = Attempt.model_validate_json((folder / MANIFEST).read_bytes())
        tables = {table: (folder / f"{table}{SUFFIX}").read_bytes() for table in attempt.objects}
        if {table: described(content) for table, content in tables.items()} == attempt.objects:
            store = open_store((folder / STORE).read_text(encoding="utf-8"))
            put_attempt(store, attempt, tables, patience_s=patience_s)
    shutil.rmtree(folder)


def hand_over_left(spool: Path) -> None:
    """Store what a killed worker left. Where a store refuses, the attempt stays for the next worker."""
    for folder in sorted(spool.glob("*/")):
        try:
            hand_over(folder, patience_s=0.0)
            say(f"left by a killed worker: attempt {folder.name}, now stored or removed")
        except (TierwiseError, OSError, ValueError) as error:
            say(f"left by a killed worker: attempt {folder.name} stays in {folder.parent.name}: {error}")
