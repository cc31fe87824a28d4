"""The run: when, on which machine, by which profile, on which pairs and with what code; nothing that names the machine or its user."""

from typing import Final

import polars as pl

from tierwise.core.units import human_seconds
from tierwise.report.exhibit_registry import Cells
from tierwise.report.formats import DASH, NBSP, count, number, percent
from tierwise.report.run import Run

UNIT: Final = "items"
PROFILE: Final = ("fraction", "replicates", "io_modes", "memory_fraction")


def rows(run: Run, pair: str) -> pl.DataFrame:  # noqa: ARG001  of the whole run
    manifest, host = run.manifest, run.manifest.host
    profile, found, retry = manifest.profile, manifest.conditions, manifest.retry
    took = human_seconds((manifest.finished_at - manifest.started_at).total_seconds()) if manifest.finished_at else DASH
    taken = [f"{study}: run `{from_run.run_id}`" for study, from_run in manifest.taken.items()]
    copied = [f"{study}: run `{run_id}`, copied" for study, run_id in manifest.copied.items()]
    rows = {
        "Run": f"`{manifest.run_id}`",
        "Started": f"{manifest.started_at:%Y-%m-%d %H:%M} UTC",
        "Took": took,
        "Processor": f"{host.cpu}, {count(host.cores)} cores, {host.architecture}",
        "Memory": f"{number(host.memory_bytes / 2**30)}{NBSP}GiB",
        "System": f"{host.distribution}, {host.system} {host.kernel}{', virtual machine' if host.virtualized else ''}",
        "Software": ", ".join(f"{name} {version}" for name, version in {"Python": host.python, **manifest.packages}.items()),
        "Processor time of fixed work": f"{number(found.pace)} times that of the recorded runs" if found else "",
        "Steal (time of the hypervisor)": percent(found.steal) if found else "",
        "Replicates added": ", ".join(f"{name}: {count(added)}" for name, added in retry.replicates.items()) if retry else "",
        "Profile": f"`{profile.get('name')}`: {', '.join(f'{name} {profile[name]}' for name in PROFILE if name in profile)}",
        "Pairs of tiers": ", ".join(f"`{name}` ({run.evidence(name) or DASH})" for name in manifest.pairs),
        "Your own pair": f"`{manifest.reader_pair}`" if manifest.reader_pair else "",
        "Several sessions": "; ".join(sorted({text for text in manifest.clocks.values() if text != "virtual"})),
        "Seed": str(manifest.seed),
        "Commit that measured the run": f"`{manifest.code_version}`",
        "SHA-256 of inputs and code": ", ".join(f"{name} `{one.sha256[:12]}`" for name, one in manifest.fingerprints.items()),
        "Rows of other runs": "; ".join([*taken, *copied]),
        "Measured anew": "; ".join(f"{study}: {why}" for study, why in manifest.why.items()),
        **{f"Sample of `{name}`": f"{count(kept.rows)} of {count(kept.of)} rows" for name, kept in manifest.samples.items()},
    }
    return pl.DataFrame([(name, value) for name, value in rows.items() if value], schema=["item", "value"], orient="row")


def tabulate(rows: pl.DataFrame) -> Cells:
    return Cells(["Item", "Value"], rows.rows(), "ll")
