"""Last chapter: everything that a number of this run needs to be believed or repeated, from its manifest."""

from collections.abc import Iterator, Mapping
from datetime import date
from importlib.resources import files
from typing import Any, Final

from tierwise.core.data_sets import published_rows
from tierwise.core.dates import is_stale
from tierwise.core.units import MB, human_seconds
from tierwise.core.vocabulary import Evidence
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, NBSP, count, listed, number, percent, seconds, tied
from tierwise.report.no_answer import told_rejected
from tierwise.report.run import Run
from tierwise.report.words import unit_of
from tierwise.timings.manifest import Manifest, Sample

OVERSHOOT: Final = "analysis/figures/overshoot.sql"
ASSUMED: Final = "assumed"
TIMES: Final = {
    "random_read_latency_s": "One random read of 8 KiB",
    "hit_s": "One read of an item in memory, one thread",
    "fault_s": "One page fault beside the device's own time, one thread",
}
"""Calibrated figures that are times, in words."""


def run_table(run: Run) -> Table:
    manifest = run.manifest
    took = human_seconds((manifest.finished_at - manifest.started_at).total_seconds()) if manifest.finished_at else DASH
    profile = manifest.profile
    rows = {
        "Run": f"`{manifest.run_id}`",
        "Started": f"{manifest.started_at:%Y-%m-%d %H:%M} UTC",
        "Took": f"{took} (hours:minutes:seconds)" if took.count(":") == 2 else f"{took} (minutes:seconds)",
        **_machine(manifest),
        **_added(manifest),
        "Profile": f"`{profile.get('name')}`: {_fields(profile, ('fraction', 'replicates', 'io_modes', 'memory_fraction'))}",
        "Pairs of tiers": ", ".join(f"`{name}` ({run.evidence(name) or 'nothing measured'})" for name in manifest.pairs),
        "Your own pair": f"`{manifest.reader_pair}`" if manifest.reader_pair else "none named",
        "Seed": str(manifest.seed),
        "Code": f"`{manifest.code_version}`",
        "Fingerprints (SHA-256 of a study's inputs and code)": ", ".join(
            f"{study} `{one.sha256[:12]}`" for study, one in manifest.fingerprints.items()
        ),
        **_elsewhere(manifest),
        **{f"Sample of `{table}`": _sample(kept) for table, kept in manifest.samples.items()},
    }
    return _items(rows, f"The run. {run.stamp}, from its manifest.")


def _elsewhere(manifest: Manifest) -> dict[str, str]:
    """Which studies' rows another run measured, and why others were measured anew."""
    taken = [f"{study}: run `{whence.run_id}`, in whose folder they stay" for study, whence in manifest.taken.items()]
    copied = [f"{study}: run `{run_id}`, copied in here" for study, run_id in manifest.copied.items()]
    anew = [f"{study}: {why}" for study, why in manifest.why.items()]
    rows = {"Rows that another run measured": "; ".join([*taken, *copied]), "Measured anew": "; ".join(anew)}
    return {name: told for name, told in rows.items() if told}


def _machine(manifest: Manifest) -> dict[str, str]:
    found = manifest.conditions
    if found is None:
        return {}
    return {
        "Pace while measuring": f"{number(found.pace)} times as long for the same work as where the plan's constants were recorded",
        "Steal while measuring": f"{percent(found.steal)} of the processor time that was wanted",
        "Measuring took": human_seconds(found.took_s),
    }


def _added(manifest: Manifest) -> dict[str, str]:
    if manifest.retry is None:
        return {}
    rejected = manifest.retry.rejected
    told = (
        f"{count(replicates)} for `{name}` ({count(rejected[name])} rows rejected before)"
        for name, replicates in manifest.retry.replicates.items()
    )
    return {
        "Replicates added (`RETRY=1`)": f"{listed(told)}; the earlier rows stay in the store, and all clean repeats of all replicates count"
    }


def _sample(kept: Sample) -> str:
    return f"{count(kept.rows)} of {count(kept.of)} rows ship with this run, drawn with seed {kept.seed}; they give no verdict"


def host(run: Run) -> Table:
    """Return the machine, as far as it decides numbers; nothing that names it or its user."""
    known = run.manifest.host
    rows = {
        "Processor": f"{known.cpu}, {count(known.cores)} cores, {known.architecture}",
        "Memory": f"{number(known.memory_bytes / 2**30)}{NBSP}GiB",
        "System": f"{known.distribution}, {known.system} {known.kernel}",
        "Virtual machine": "yes" if known.virtualized else "no",
        "Python": known.python,
        **{f"Package {name}": version for name, version in sorted(run.manifest.packages.items())},
    }
    return _items(rows, f"Machine and software. {run.stamp}, from its manifest.")


def data(run: Run) -> Table | Sentence:
    """Tabulate every data set of the run: where its rows come from, how many they are, and the digest of their file, where they lie in
    one.
    """
    manifest = run.manifest
    if not manifest.datasets:
        return Sentence("No study of this run used a data set.")
    rows = [
        [
            record.name,
            f"`{manifest.source_of(record)}`",
            count(record.rows),
            percent(record.rows / whole) if (whole := published_rows(record.name)) else DASH,
            f"`{record.sha256[:16]}…`" if record.sha256 else DASH,
            listed(f"`{study}`" for study in record.studies) or DASH,
        ]
        for record in manifest.datasets
    ]
    return Table(
        ["Data", "Source", "Rows", "Of the published", "SHA-256", "Used by"],
        rows,
        "The data sets: rows that no file holds were made in the server, and have no digest. "
        f"{run.stamp}, n = {count(len(rows))} tables; from its manifest.",
        align="llrrll",
    )


def settings(run: Run) -> Table | Sentence:
    """Return the server's settings while measuring, one row for each study, pair and setting; equal ones are told once."""
    told: dict[tuple[str, str], list[str]] = {}
    served = [record for record in run.manifest.studies if record.server_version]  # a simulated study has no server
    for record in served:
        for name, value in {"server version": record.server_version, **record.settings}.items():
            told.setdefault((name, value), []).append(f"{record.name} on {record.pair}")
    if not told:
        return Sentence("No study of this run recorded server settings.")
    everywhere = len(served)
    rows = [
        [f"`{name}`", f"`{value}`" if value else "(empty)", "all" if len(where) == everywhere else ", ".join(where)]
        for (name, value), where in sorted(told.items())
    ]
    return Table(
        ["Setting", "Value", "Study and pair"],
        rows,
        f"The server's settings while measuring (those of the last trial of each study and pair). {run.stamp}, from its manifest.",
    )


def tiers(run: Run) -> Table:
    rows = [
        [f"`{pair}`", f"`{tier}`", str(spec.get("kind")), f"`{spec.get('device') or spec.get('directory')}`", str(spec.get("note") or DASH)]
        for pair, record in run.manifest.pairs.items()
        for tier, spec in record.get("tiers", {}).items()
    ]
    return Table(
        ["Pair", "Tier", "Kind", "Device or directory", "Note"],
        rows,
        f"The tiers of each pair. Input: `data/tiers/`; as recorded in {run.name}.",
    )


def parameters(run: Run) -> Table | Sentence:
    """Return every parameter of every emulated device, with where it was read; what nobody read anywhere is marked."""
    devices = {name: spec for record in run.manifest.pairs.values() for name, spec in record.get("devices", {}).items()}
    leaves = [(device, path, leaf) for device, spec in sorted(devices.items()) for path, leaf in _leaves(spec)]
    if not leaves:
        return Sentence("No tier of this run is emulated, so no device has parameters.")
    assumed = sum(leaf["source"] == ASSUMED for _, _, leaf in leaves)
    read: dict[str, dict[str, list[str]]] = {}  # device -> source -> what stands there
    for device, path, leaf in leaves:
        read.setdefault(device, {}).setdefault(_source(leaf, run.manifest.started_at.date()), []).append(
            f"{path} {_value(leaf)}{_band(leaf)}"
        )
    return Table(
        ["Device", "Parameters", "Source"],
        [
            ["" if position else f"`{device}`", "; ".join(stated), source]
            for device, sources in read.items()
            for position, (source, stated) in enumerate(sources.items())
        ],
        f"Parameters of the emulated devices: {count(len(leaves))}, of which {count(assumed)} are assumed, that is chosen by us because "
        f"no source that we read gives them. Input: `data/devices/`; as recorded in {run.name}.",
    )


def calibrations(run: Run) -> Table | Sentence:
    found = run.manifest.calibrations
    if not found:
        return Sentence("No tier of this run is a real disk, so none was calibrated.")
    rows = [[f"`{tier}`", *_calibrated(name, value)] for tier, figures in found.items() for name, value in figures.items()]
    return Table(
        ["Pair and tier", "Figure", "Value"],
        rows,
        "Calibration of the real disks, and of what reading mapped files costs, taken in seconds before measuring. "
        f"{run.stamp}, **{Evidence.MEASURED}**, from its manifest.",
        align="llr",
    )


def overshoot(run: Run) -> Table:
    """Tabulate asked and real time of the emulated requests, and how many observations were flagged for it."""
    rows = run.query((files("tierwise") / OVERSHOOT).read_text(encoding="utf-8")).rows(named=True)
    cells = [
        [
            f"`{row['pair']}`",
            f"`{row['tier']}`",
            f"**{row['evidence']}**",
            count(row["reads"]) if row["reads"] is not None else DASH,
            seconds(row["intended_s"] / row["reads"]) if row["reads"] and row["intended_s"] else DASH,
            seconds(row["actual_s"] / row["reads"]) if row["reads"] and row["actual_s"] else DASH,
            percent(row["actual_s"] / row["intended_s"] - 1) if row["actual_s"] and row["intended_s"] else DASH,
            f"{count(row['flagged'])} of {count(row['observations'])}",
        ]
        for row in rows
    ]
    return Table(
        ["Pair", "Tier", "Evidence", "Reads", "Asked, mean", "Took, mean", "Overshoot", "Flagged"],
        cells,
        "What the device model asked of each read and what it took. An observation whose overshoot exceeds its bound is flagged "
        "and gives no verdict. "
        f"{run.stamp}, n = {count(sum(row['observations'] for row in rows))} observations of a tier. Query: `{OVERSHOOT}`.",
        align="lllrrrrr",
    )


def flags(run: Run) -> Sentence:
    """Return how many observations are rejected and give no verdict, by evidence and reason."""
    return Sentence(told_rejected(run))


def _items(rows: Mapping[str, str], caption: str) -> Table:
    return Table(["Item", "Value"], [[name, value] for name, value in rows.items()], caption)


def _fields(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_plain(record[name])}" for name in names if name in record)


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _leaves(spec: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Everything with a value and a source, at any depth, by its path."""
    for name, part in spec.items():
        if isinstance(part, Mapping):
            where = f"{path}{name.replace('_', ' ')}"
            yield from [(where, part)] if {"value", "source"} <= part.keys() else _leaves(part, f"{where}, ")


def _value(leaf: Mapping[str, Any]) -> str:
    value = leaf["value"]
    if isinstance(value, bool):
        return "yes" if value else "no"
    unit = unit_of(leaf)
    return f"{value:,g}{'' if unit in ('', '1') else f'{NBSP}{unit}'}" if isinstance(value, int | float) else str(value)


def _band(leaf: Mapping[str, Any]) -> str:
    return "" if leaf.get("low") is None else tied(f" ({leaf['low']:g} to {leaf['high']:g} {unit_of(leaf)}".removesuffix(" 1") + ")")


def _source(leaf: Mapping[str, Any], on: date) -> str:
    """Where a parameter was read, and of which day; what was assumed, fitted on data, or is old on the day `on`, says so."""
    source = f"**{ASSUMED}**" if leaf["source"] == ASSUMED else str(leaf["source"])
    told = [source, *([f"fitted on {leaf['fitted_on']}"] if leaf.get("fitted_on") else [])]
    if day := leaf.get("date"):
        told.append(f"{day}{', older than a year' if is_stale(day, on) else ''}")
    return ", ".join(told)


def _calibrated(name: str, value: float) -> tuple[str, str]:
    match name:
        case "random_read_iops_8jobs":
            return "Random reads of 8 KiB, 8 at once", f"{number(value)} a second"
        case "sequential_read_bytes_per_s":
            return "Sequential read", f"{number(value / MB)}{NBSP}MB/s"
        case "direct":
            return "Past the page cache", "yes" if value else "no"
    return (TIMES[name], seconds(value)) if name in TIMES else (name.replace("_", " "), number(value))
