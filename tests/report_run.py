"""A fabricated run that has everything a report can show, for tests of the report."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import polars as pl

from rows import CROSS, ELAPSED_S, PLACEMENTS, TABLE_ON_SSD, make_manifest, make_rows
from tierwise.core import paths
from tierwise.core.toml import read_table
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.report.versions import Stamp

RUN_ID: Final = "20260102-030405-quick-abcdef"
STAMP: Final = Stamp("r1", "2026-01-01T00:00:00Z", "abc1234", {"cores": 2}, "v1", "abc1234", "2026-01-01")
"""Where a figure's numbers come from."""
RATIOS: Final = {("hot", "FL"): 0.78, ("hot", "PR"): 0.80, ("hot", "NV"): 0.03}
VARIANTS: Final[list[dict[str, Any]]] = [  # the variants that the profile ``smoke`` measures
    {"variant": "published", "ratios": RATIOS},
    {"variant": "heap-cached", "states": ("NV",), "pace": 0.05, "ratios": {("cold", "NV"): 0.8}},
]
ESTIMATES: Final = {
    code: {"scan": "Index Scan using pob on census", "rows": 1_800, "total_cost": 5_321.25, "found_rows": found}
    for code, found in (("12", 5_444), ("72", 1_013), ("32", 472), ("33", 903))
}
PREDICTIONS: Final = [
    {
        "trial": f"index={index}/io_mode=buffered/start={start}/table={table}/variant=published",
        "reference": f"index=ssd/io_mode=buffered/start={start}/table=ssd/variant=published",
        "step": 0,
        "evidence": "simulated",
        "requests": 18_017,
        "replicates": list(range(5)),
        "devices_s": [0.1] * 5,
        "predicted_s": [ELAPSED_S["cold"][start] * (TABLE_ON_SSD[start] if table == "ssd" else 1)] * 5,
    }
    for table, index in PLACEMENTS
    for start in CROSS
]
SAMPLES: Final = [
    {
        "order": order,
        "statistics_target": target,
        "correlation": [correlation] * 5,
        "distinct": [200.0] * 5,
        "most_common": [target] * 5,
        "estimates": {
            code: {
                "scan": ["Index Scan using pob on census"] * 5,
                "rows": [rows / 50] * 5,
                "total_cost": [cost / 50] * 5,
                "rows_at_published_size": [rows - 100, rows, rows, rows, rows + 100],
                "cost_at_published_size": [cost] * 5,
            }
            for code in ("12", "33")
        },
    }
    for order, correlation, target, rows, cost in (
        ("state", 0.51, 10, 12_200.0, 35_000.0),
        ("state", 0.51, 100, 54_000.0, 135_000.0),
        ("random", 0.02, 10, 12_200.0, 47_000.0),
    )
]
EXPLAINED: Final = {
    "12": {"rows": 12_800.0, "total_cost": 36_708.78, "cost_uncorrelated": 48_000.0, "cost_correlated": 5_600.0, "correlation": 0.509},
    "33": {"rows": 11_686.0, "total_cost": 33_965.2, "cost_uncorrelated": 44_000.0, "cost_correlated": 5_100.0, "correlation": 0.501},
}
FACTS: Final[dict[str, Any]] = {
    "size_bytes": {"census": 106_000_000, "pob": 5_400_000, "census_pkey": 5_400_000},
    "cold_pages": {state: {"census": heap, "pob": 9, "census_pkey": 1} for state, heap in (("FL", 2_790), ("PR", 640), ("NV", 402))},
    "planner": {
        "statistics_target": 10,
        "correlation": 0.512,
        "published_switches": ESTIMATES,
        "today": ESTIMATES,
        "explained": EXPLAINED,
        "samples": SAMPLES,
    },
    "predictions": PREDICTIONS,
}
EXECUTE: Final = """
import json, sys
from pathlib import Path
import tierwise.report  # first: it spares papermill a second of imports
from papermill.execute import execute_notebook
folder, notebook, parameters = sys.argv[1:]
execute_notebook(notebook, Path(folder) / Path(notebook).name, json.loads(parameters), kernel_name="python3", progress_bar=False)
"""
SHOW: Final = """
import sys
from pathlib import Path
import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
for path in map(Path, sys.argv[2:]):
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            with capture_output() as shown:
                shell.display_trap.hook = sys.displayhook  # captures the value of a cell
                shell.run_cell(cell.source).raise_error()
            given = [one for one in shown.outputs if one.data]  # a value that shows itself leaves an empty one
            cell.outputs = [nbformat.v4.new_output("display_data", data=one.data, metadata=one.metadata) for one in given]
    nbformat.write(notebook, Path(sys.argv[1]) / path.name)
    shell.reset(new_session=False)
"""
PROVENANCE: Final = {
    "source": "synthetic",
    "what": "synthetic rows drawn from distilled facts of the real file; no row is a real person's",
    "seed": 1,
    "pob_counts": {"12": 5_444},
    "assumed": ["households that span two states are not in the excerpt"],
}


def rich_run(
    raw: Path, *, run_id: str = RUN_ID, profile: str = "quick", io_modes: tuple[IoMode, ...] = (IoMode.BUFFERED,), here: bool = False
) -> Path:
    """Return a complete run on the source's own pair, with the repository's devices; `here`: on the reader's pair ``local`` as well."""
    pairs = {"source-m": Evidence.EMULATED, **({"local": Evidence.MIXED} if here else {})}
    rows = pl.concat(
        make_rows(run_id=run_id, pair=pair, evidence=evidence, io_mode=io_mode, seed=seed, **variant)
        for seed, (pair, evidence) in enumerate(pairs.items())
        for io_mode in io_modes
        for variant in VARIANTS
    )
    folder = raw / run_id
    folder.mkdir(parents=True)
    rows.sort("pair", "sequence", "step").write_parquet(folder / "timings.parquet")
    plain = make_manifest(rows, profile=profile, reader_pair="local" if here else None)
    plain.model_copy(
        update={
            "pairs": {pair: pair_as_recorded(pair) for pair in pairs},
            "datasets": tuple(record.model_copy(update={"provenance": PROVENANCE}) for record in plain.datasets),
            "studies": tuple(record.model_copy(update={"facts": FACTS}) for record in plain.studies),
            "calibrations": {"local/ssd": {"random_read_latency_s": 5.1e-5, "sequential_read_bytes_per_s": 1.2e9}} if here else {},
        }
    ).save(folder)
    return folder


def execute(folder: Path, notebook: Path, **parameters: Any) -> None:
    """Run `notebook` by papermill in a process apart, which leaves no event loop; the executed copy lies in `folder`, whole or not."""
    _run(EXECUTE, str(folder), str(notebook), json.dumps(parameters))


def show(folder: Path, *notebooks: Path) -> None:
    """Run `notebooks` in one process, as a kernel for each takes four times as long; the executed copies lie in `folder`."""
    _run(SHOW, str(folder), *map(str, notebooks))


def _run(code: str, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)


def pair_as_recorded(name: str) -> dict[str, Any]:
    pair = read_table(paths.data() / "tiers" / f"{name}.toml")
    named = [tier["device"] for tier in pair["tiers"].values() if tier["kind"] == "emulated"]
    devices = {device: read_table(paths.data() / "devices" / f"{device}.toml") for device in named}
    members = {device["member"] for device in devices.values() if "member" in device}
    return {**pair, "devices": devices | {member: read_table(paths.data() / "devices" / f"{member}.toml") for member in members}}
