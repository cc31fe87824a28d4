"""One study on one pair: every parameter is moved to both ends of its band. Each move has its own file until all are there."""

import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import polars as pl

from tierwise.advisor.other_devices import factors_of, steps_on, with_factors
from tierwise.analysis.claim_rows import Rows, series_of
from tierwise.analysis.claims import Kind, load_claims
from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.model_interval import CLAIM, FILE, SCHEMA, Key, combined
from tierwise.analysis.rules import odds
from tierwise.analysis.runs import find_run
from tierwise.analysis.views import open_views
from tierwise.core import paths
from tierwise.core.errors import TierwiseError, with_remedy
from tierwise.core.files import make_folder, scratch_folder
from tierwise.core.pairs import load_pair
from tierwise.core.progress import Progress, say
from tierwise.devices.naming import named
from tierwise.devices.spec import DeviceSpec, load_device
from tierwise.pipeline import runs_in, variables
from tierwise.report.run import Run
from tierwise.report.site import code_version
from tierwise.report.study_registry import judge_all
from tierwise.report.values.front import headlines_of
from tierwise.sensitivity.bands import HOME, Move, make_checkout, moves_of
from tierwise.timings.manifest import Manifest, load_manifest, manifests
from tierwise.timings.parquet import keep_whole, read_whole

JUDGED: Final = {Kind.RATIO, Kind.ABSOLUTE, Kind.SHARE, Kind.ORDER}  # kinds of claims whose cases have an interval of replicates

Values = Mapping[Key, Mapping[int, float]]


def values_of(run: Run, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]) -> Values:
    """Return the values of `study` on `pair` in `run`: of claims by the variant and I/O mode of `verdicts`, shares as odds."""
    return {**dict(_of_claims(run, study, pair, verdicts)), **dict(headlines_of(run, study, pair))}


def _of_claims(run: Run, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]) -> Iterator[tuple[Key, Mapping[int, float]]]:
    known, rows = load_claims(), Rows(run.store, run.manifest)
    for claim in known.every:
        own = (claim.pair or known.sources[claim.source].pair) == pair
        decides, judged = verdicts.get(claim.id), claim.kind in JUDGED and own and not claim.counts
        if not judged or decides is None or decides.io_mode is None or {case.study for case in claim.cases} != {study}:
            continue
        for series in series_of(rows, claim, pair, decides.variant):
            if series.io_mode is decides.io_mode:
                share = claim.kind is Kind.SHARE
                values = {replicate: odds(value) if share else value for replicate, value in series.values.items()}
                yield Key(pair, CLAIM, claim.id, series.case, decides.variant, str(series.io_mode)), values


LARGEST: Final = 3
"""How many parameters are moved again at the size that decides: those that move any value most at the size of the screening."""
SCREENING: Final = "smoke"
FOLDER: Final = ".sensitivity"  # folder below ``data/raw``, in which the runs lie and what a killed command left


@dataclass(frozen=True)
class Base:
    folder: Path
    study: str
    pair: str
    method: str
    own: Values
    moved: Callable[[Move], tuple[Move, Values] | None]

    def rows(self, move: Move) -> pl.DataFrame:
        """Return the shift of each value with `move`: null where the moved run has none."""
        manifest = load_manifest(self.folder)
        found = _factor(move, self.own) if move.kind == "factor" else self.moved(move)
        taken, values = found or (move, self.own)
        of: dict[str, Any] = {
            "study": self.study,
            "parameter": move.parameter,
            "end": move.end,
            "own": shown(move.own, move.unit),
            "value": shown(taken.value if found else move.own, move.unit),
            "method": "stated" if move.kind == "factor" else self.method,
            "profile": str(manifest.profile["name"]),
            "fraction": float(manifest.profile["fraction"]),
            "seed": manifest.seed,
            "run_id": manifest.run_id,
            "code_version": code_version(),
            "cpu": manifest.host.cpu,
            "cores": manifest.host.cores,
            "measured_on": f"{datetime.now(UTC):%Y-%m-%d}",
        }
        rows = []
        for quantity, own in self.own.items():
            other = values.get(quantity, {})
            logs = [math.log(other[replicate] / value) for replicate, value in own.items() if replicate in other]
            rows.append(of | quantity._asdict() | {"log_shift": fmean(logs) if logs else None, "replicates": len(logs)})
        return pl.DataFrame(rows, schema=SCHEMA)


def shown(value: float | bool | str, unit: str) -> str:
    """Return ``8.5 ms``, ``yes`` or ``raid6``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:g} {unit}".removesuffix(" 1").strip()


def _factor(move: Move, own: Values) -> tuple[Move, Values]:
    assert isinstance(move.value, float)
    factor = move.value
    return move, {quantity: {replicate: value * factor for replicate, value in values.items()} for quantity, values in own.items()}


def sensitivity(names: Sequence[str], *, run: str, repeat: str, seed: int, trials: str = "") -> Path:
    """Move every parameter of the studies `names`, and ship the shifts: screened, replayed on `run`, and repeated with profile `repeat`.

    `trials` chooses those that are repeated, as in `run_study`.
    """
    for study in names:
        screened = list(_screen(study, SCREENING, seed))
        if run:
            for base in _bases(find_run(run), study):
                ship(_every(base, moves_of(study, base.pair)))
        for base in screened if repeat else ():
            largest = _largest(base)
            if largest and base.method != "replay":
                list(_screen(study, repeat, seed, largest, base.pair, trials=trials))
    return shipped()


def _screen(study: str, profile: str, seed: int, only: Sequence[str] = (), pair: str = "", *, trials: str = "") -> Iterator[Base]:
    raw = paths.raw() / FOLDER / study
    say(f"{study}: the run that moved ones are compared with, profile {profile}")
    measure = partial(measured, study, profile, seed, trials)
    for base in _bases(measure(raw=raw), study, measure):
        if pair in {"", base.pair} and (moves := [move for move in moves_of(study, base.pair) if not only or move.parameter in only]):
            ship(_every(base, moves))
            yield base


def _bases(folder: Path, study: str, measure: Callable[..., Path] | None = None) -> Iterator[Base]:
    verdicts = {one.id: one for one in judge_all(folder.parent, folder.name)}
    manifest = load_manifest(folder)
    for record in manifest.of(study):
        pair = record.pair
        own = values_in(folder, study, pair, verdicts)
        if not own or not moves_of(study, pair) or not _as_it_was(manifest, pair):
            continue
        replayed = Replayed(folder, study, pair, verdicts)
        if replayed.steps:
            yield Base(folder, study, pair, "replay", own, replayed.values)
        elif measure:
            again = partial(moved_values, measure=measure, study=study, pair=pair, verdicts=verdicts, within=folder.parent)
            yield Base(folder, study, pair, "runs", own, again)


def _as_it_was(manifest: Manifest, pair: str) -> bool:
    now = {tier: getattr(spec, "device", None) for tier, spec in load_pair(pair).tiers.items()}
    return {tier: spec.get("device") for tier, spec in manifest.pairs[pair].get("tiers", {}).items()} == now


def _every(base: Base, moves: Sequence[Move]) -> pl.DataFrame:
    parts = paths.raw() / FOLDER / base.study / f"{base.folder.name}-{base.pair}"
    make_folder(parts)
    progress = Progress(f"{base.study} on {base.pair}, {base.method}", len(moves))
    found = []
    for move in moves:
        part = parts / f"{move.slug}.parquet"
        if not part.exists():
            keep_whole(base.rows(move), part)
        found.append(read_whole(part, part.name))
        progress.step(note=move.parameter)
    return pl.concat(found)


def _largest(base: Base) -> list[str]:
    rows = read_whole(shipped(), FILE).filter(study=base.study, pair=base.pair, profile=SCREENING).drop_nulls("log_shift")
    moved = rows.filter(pl.col("method") != "stated").group_by("parameter").agg(pl.col("log_shift").abs().max())
    return moved.sort("log_shift", descending=True)["parameter"].head(LARGEST).to_list()


def shipped() -> Path:
    return paths.reference() / FILE


def ship(rows: pl.DataFrame) -> None:
    """Put `rows` in the place of those of the same study, pair and profile in the file that ships."""
    own = ["study", "pair", "profile"]
    before = read_whole(shipped(), FILE).cast(SCHEMA) if shipped().exists() else pl.DataFrame(schema=SCHEMA)
    kept = before.join(rows.select(own).unique(), on=own, how="anti")
    keep_whole(pl.concat([kept, rows.cast(SCHEMA)]).sort(*own, "kind", "name", "case", "parameter", "end"), shipped())
    say(f"{rows['study'][0]} on {rows['pair'][0]}: {len(combined(rows))} values have a model interval")


LOG: Final = ".measured.log"
MOVED: Final = ".moved"
"""One place for the checkout of every moved run: by it, a run finds its work folder, and ends the server that a killed one left there."""


def measured(study: str, profile: str, seed: int, trials: str = "", *, raw: Path, home: Path | None = None) -> Path:
    """Measure `study` into the folder `raw`, in the checkout `home` or in this one, and return the folder of the run."""
    make_folder(raw)
    variables = {"TIERWISE_RAW": str(raw), **({"TIERWISE_HOME": str(home)} if home else {})}
    command = [sys.executable, "-m", "tierwise", "run", study, "--profile", profile, "--seed", str(seed), "--trials", trials, "--yes"]
    with (raw / LOG).open("w") as log:
        done = subprocess.run(command, env={**os.environ, **variables}, stdout=log, stderr=log, check=False)
    chosen = {study: trials} if trials else {}
    ended = [(run.finished_at, run.run_id) for run in manifests(raw).values() if run.finished_at and run.chosen == chosen]
    if done.returncode or not ended:
        last = (raw / LOG).read_text(encoding="utf-8").strip().splitlines()[-1:]
        raise TierwiseError(with_remedy(f"{study} could not be measured: {''.join(last)}"))
    return raw / max(ended)[1]


def moved_values(
    move: Move, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict], *, measure: Callable[..., Path], within: Path
) -> tuple[Move, Values] | None:
    """Return the values with `move`, as far as the model takes it, from a run below the folder `within`, which is gone at the end."""
    moved = within / MOVED
    shutil.rmtree(moved, ignore_errors=True)
    try:
        make_folder(moved)
        taken = make_checkout(moved / "home", move)
        if taken is None:
            return None
        folder = measure(raw=moved / "raw", home=moved / "home")
        return taken, values_in(folder, study, pair, verdicts)
    finally:
        shutil.rmtree(moved, ignore_errors=True)


def values_in(folder: Path, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]) -> Values:
    with runs_in(folder.parent), open_views(folder.parent, folder.name) as connection:
        return values_of(Run(load_manifest(folder), connection, (), folder), study, pair, verdicts)


class Replayed:
    """The recorded requests of `study` on `pair` in the run in `folder`."""

    def __init__(self, folder: Path, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]):
        self.folder, self.study, self.pair, self.verdicts = folder, study, pair, verdicts
        with open_views(folder.parent, folder.name) as connection:
            self.steps = [step for step in steps_on(connection, folder, pair) if step.study == study]

    def values(self, move: Move) -> tuple[Move, Values] | None:
        """Return the values with `move`, as far as the model takes it; `None` where it takes no other value."""
        if move.kind == "scale":
            assert isinstance(move.value, float)
            return move, self._values({}, move.value)
        with scratch_folder("tierwise-moved-") as checkout:
            taken = make_checkout(checkout, move)
            if taken is None:
                return None
            with variables({HOME: str(checkout)}):
                devices = dict(_touched(self.pair, taken.file.removeprefix("devices/")))
        return taken, self._values(devices)

    def _values(self, devices: Mapping[str, DeviceSpec], scale: float = 1.0) -> Values:
        tiers = list(devices) or [tier for tier, spec in self.steps[0].tiers.items() if "device" in spec]
        factors = factors_of(self.steps, [step.device_s(devices, scale) for step in self.steps])
        connection = open_views(self.folder.parent, self.folder.name, lambda rows: with_factors(rows, self.pair, tiers, factors))
        with runs_in(self.folder.parent):
            return values_of(Run(load_manifest(self.folder), connection, (), self.folder), self.study, self.pair, self.verdicts)


def _touched(pair: str, file: str) -> Iterator[tuple[str, DeviceSpec]]:
    for tier, spec in load_pair(pair).tiers.items():
        if device := getattr(spec, "device", None):
            found = load_device(device)
            member = getattr(found, "member", None)
            if named(device).stem == file or (member is not None and member == load_device(file)):
                yield tier, found
