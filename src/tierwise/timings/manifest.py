"""The manifest of a run: its inputs, its machine and code, and whether it is complete."""

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self

from pydantic import Field

from tierwise.core.data_sets import SYNTHETIC
from tierwise.core.errors import InputError
from tierwise.core.files import write_whole
from tierwise.core.host import Host
from tierwise.core.pairs import TODAY
from tierwise.core.progress import say
from tierwise.core.rule_history import RuleVersion
from tierwise.core.text_files import read_json
from tierwise.core.toml import Strict, validate
from tierwise.timings.references import FORMAT_VERSION, MANIFEST, Taken

LAST_BEFORE: Final = "tierwise 0.2.0"  # the last release that reads runs of older versions
RETRIED: Final = "retry: "  # how the name of a stage begins that measured added replicates


class DatasetRecord(Strict):
    name: str
    rows: int
    sha256: str | None  # none where the rows lie in no file, but were made in a server
    provenance: dict[str, Any]
    studies: tuple[str, ...] = ()  # that used it


class StudyRecord(Strict):
    name: str
    pair: str
    trials: tuple[str, ...]
    real_time: tuple[str, ...] = ()  # trials that were also measured in real time
    not_replicated: tuple[str, ...] = ()  # trials of which every replicate has the data of the first
    replicates: int
    settings: dict[str, str]
    server_version: str
    facts: dict[str, Any]  # what the study found out once: sizes of relations, plans, planner estimates


class Fingerprint(Strict):
    """What a study's numbers come from; two runs of which it is equal measured the same."""

    inputs: dict[str, str]  # name of an input -> digest
    code: dict[str, str]  # module, or file that one reads -> digest

    @property
    def sha256(self) -> str:
        return hashlib.sha256(json.dumps([self.inputs, self.code], sort_keys=True).encode()).hexdigest()

    def differing(self, other: "Fingerprint") -> list[str]:
        both = ((self.inputs, other.inputs), (self.code, other.code))
        return [name for ours, theirs in both for name in sorted(ours.keys() | theirs.keys()) if ours.get(name) != theirs.get(name)]


class Sample(Strict):
    """How many rows of a table ship with a run that was made small, of how many, and with which seed they were drawn."""

    rows: int
    of: int
    seed: int


class Retry(Strict):
    """Whole replicates that were added, once, for what was rejected; the rejected rows stay in the store."""

    replicates: dict[str, int]  # "study/pair" -> replicates beyond the profile's
    rejected: dict[str, int]  # "study/pair" -> the rejected rows that were there before them


class Stage(Strict):
    name: str
    took_s: float
    pace: float  # processor time of the fixed piece of work before it, over that of ``data/plan/recorded.toml``
    steal: float  # share of the processor time wanted by the machine's processes that its host gave to others


class Merged(Strict):
    run_id: str
    seed: int
    code_version: str
    host: Host
    started_at: datetime


class UsedAttempt(Strict):
    """The attempt that a replicate's rows come from, where workers measured (`cluster.attempts`)."""

    study: str
    replicate: int
    attempt: str
    machine: str
    host: Host
    prices: str  # digest of the price book on that machine


class Conditions(NamedTuple):
    """How long the notebooks that measured took together, and the pace and steal over them, weighted by their times."""

    took_s: float
    pace: float
    steal: float


class Manifest(Strict):
    """Everything that a number of this run needs to be believed or repeated."""

    format_version: int = FORMAT_VERSION
    run_id: str
    status: Literal["running", "partial", "complete"]  # partial: it has only the studies that the user chose
    profile: dict[str, Any]
    pairs: dict[str, dict[str, Any]]  # pair name -> its file, with every device file that it names
    reader_pair: str | None  # the pair that the reader named: verdicts in the column `here`
    seed: int
    chosen: dict[str, str] = Field(default_factory=dict)  # study -> its trials that the user chose: the run stays partial
    clocks: dict[str, str] = Field(default_factory=dict)  # one session, several -> how their time on emulated tiers goes, or why it waits
    sources: dict[str, str] = Field(default_factory=dict)  # data set -> where the user got it, if not from the generator
    code_version: str
    fingerprints: dict[str, Fingerprint] = Field(default_factory=dict)  # of every study that there was, measured here or not
    taken: dict[str, Taken] = Field(default_factory=dict)  # study -> the older run in whose folder its rows lie
    copied: dict[str, str] = Field(default_factory=dict)  # study -> the run that measured the rows which were copied in here
    note: str = ""  # what readers must know of the rows, shown wherever the run is named
    merged: tuple[Merged, ...] = ()  # the runs that it was made of
    attempts: tuple[UsedAttempt, ...] = ()  # where workers measured
    rules: RuleVersion | None = None  # of verdicts, when the run began; None: the run is older than this record
    why: dict[str, str] = Field(default_factory=dict)  # study -> why it was measured anew, where an older run had it
    host: Host
    packages: dict[str, str]
    started_at: datetime
    finished_at: datetime | None = None
    datasets: tuple[DatasetRecord, ...] = ()
    studies: tuple[StudyRecord, ...] = ()
    begun: tuple[StudyRecord, ...] = ()  # studies of which replicates are still to be measured; `replicates`: how many are whole
    calibrations: dict[str, dict[str, float]] = Field(default_factory=dict)  # "pair/tier" -> figures with their units in the names
    samples: dict[str, Sample] = Field(default_factory=dict)  # "table/study" -> what of it a run that was made small has kept
    retry: Retry | None = None
    lacking: dict[str, int] = Field(default_factory=dict)  # study -> replicates that the budget did not buy
    stages: tuple[Stage, ...] = ()  # in the order in which they ended; a resumed run has some of them twice

    @property
    def conditions(self) -> Conditions | None:
        """Return the conditions over all stages but those of added replicates; it is `None` of a run that recorded none."""
        own = [stage for stage in self.stages if not stage.name.startswith(RETRIED)]
        took_s = sum(stage.took_s for stage in own)
        if not took_s:
            return None
        pace, steal = (sum(getattr(stage, name) * stage.took_s for stage in own) / took_s for name in ("pace", "steal"))
        return Conditions(took_s, pace, steal)

    @property
    def todays_pairs(self) -> tuple[str, ...]:
        """Return the pairs of today that the profile names, and the reader's own if it is one of today's."""
        named = self.profile.get("today") or ()
        names = (named,) if isinstance(named, str) else tuple(named)
        return tuple(name for name in (*names, self.reader_pair) if name and self.pairs.get(name, {}).get("source") == TODAY)

    def of(self, study: str) -> list[StudyRecord]:
        return [record for record in self.studies if record.name == study]

    def source_of(self, data: DatasetRecord) -> str:
        return str(data.provenance.get("source") or self.sources.get(data.name) or SYNTHETIC)

    def data(self, name: str, study: str) -> DatasetRecord | None:
        """Return the rows of the data set `name` that `study` used; two studies may use different parts of one."""
        return next((data for data in self.datasets if data.name == name and study in data.studies), None)

    def with_data(self, found: Iterable[DatasetRecord]) -> tuple[DatasetRecord, ...]:
        merged = {(data.name, data.rows, data.sha256): data for data in self.datasets}
        for data in found:
            known = merged.get((data.name, data.rows, data.sha256), data)
            studies = tuple(sorted({*known.studies, *data.studies}))
            merged[data.name, data.rows, data.sha256] = data.model_copy(update={"studies": studies})
        return tuple(merged.values())

    def replicates_added(self, study: str, pair: str) -> int:
        return 0 if self.retry is None else self.retry.replicates.get(f"{study}/{pair}", 0)

    def save(self, folder: Path, *, indent: int = 2) -> Self:
        write_whole(folder / MANIFEST, self.model_dump_json(indent=indent) + "\n")
        return self


def load_manifest(folder: Path) -> Manifest:
    where = f"{folder.name}/{MANIFEST}"
    if not (folder / MANIFEST).is_file():
        raise InputError(where, rule="a run needs a manifest")
    table = read_json(folder / MANIFEST, where)
    version = table.get("format_version", "none") if isinstance(table, dict) else FORMAT_VERSION
    if version != FORMAT_VERSION:
        newer = isinstance(version, int) and version > FORMAT_VERSION
        remedy = f"read it with {'a newer release' if newer else LAST_BEFORE}"
        raise InputError(where, field="format_version", value=version, rule=f"must be {FORMAT_VERSION}", remedy=remedy)
    return validate(table, Manifest, where=where)


def manifests(raw: Path) -> dict[str, Manifest]:
    """Return every run below `raw` by its id, in alphabetical order; a folder that is no run is named on the terminal and left alone."""
    found = {}
    for folder in sorted(entry for entry in raw.glob("*") if entry.is_dir() and not entry.name.startswith(".")):
        try:
            found[folder.name] = named_manifest(folder)
        except InputError as error:
            say(f"left alone: {error}")
    return found


def named_manifest(folder: Path) -> Manifest:
    manifest = load_manifest(folder)
    if manifest.run_id != folder.name:
        raise InputError(f"{folder.name}/{MANIFEST}", field="run_id", value=manifest.run_id, rule="must be the name of its folder")
    return manifest
