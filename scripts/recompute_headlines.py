"""Recompute ten headline numbers of a run from its Parquet rows, by nothing of tierwise.

    python scripts/recompute_headlines.py data/reference/RUN

Each line is a workload, a placement, and the speed-up with its 95 % interval.
"""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

LEAST_REPLICATES = 5
RUN_REPLICATES = 1000
"""A merged run numbers the replicates of its second run from here on."""
CENSUS, JOINS, CURVES = "Cold counts through an index (census)", "Joins of two large tables (sky survey)", "Light curves (sky survey)"
OLTP, PLAIN, CACHED = (
    "OLTP, data three times the memory (pgbench)",
    "Commits (log on plain disks)",
    "Commits (log behind a battery-backed cache)",
)
LOG = "write-ahead log"


def estimate(slow: dict[int, float], fast: dict[int, float]) -> tuple[float, float, float]:
    """Return the geometric mean of the ratios of the same replicates, and its interval; three runs or more are a sample of runs."""
    logs: dict[int, list[float]] = {}
    for replicate in sorted(slow.keys() & fast.keys()):
        logs.setdefault(replicate // RUN_REPLICATES, []).append(float(np.log(slow[replicate] / fast[replicate])))
    means, each = np.array([np.mean(run) for run in logs.values()]), [len(run) for run in logs.values()]
    if len(means) >= 3:
        freedom, error = len(means) - 1, means.std(ddof=1) / np.sqrt(len(means))
    else:
        freedom = sum(each) - len(each)
        variance = sum(np.var(run) * len(run) for run in logs.values()) / freedom
        error = np.sqrt(variance * sum(1 / number for number in each)) / len(each)
    half = stats.t.ppf(0.975, freedom) * error
    return tuple(float(np.exp(means.mean() + side)) for side in (0.0, -half, half))  # type: ignore[return-value]


def steady(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in virtual time, with a steady host's part, and without windows whose clock jumped.

    A query's time is its devices' and its host's. The host's is the median over the replicates, each at the speed that the processors had
    for a fixed work in its replicate; where it scatters by more than a twentieth of the whole in any cell of the study on the pair, it is
    each row's own.
    """
    run = (pl.col("replicate") // RUN_REPLICATES).alias("run")
    virtual = rows.with_columns(run).filter(pl.col("clock") != "real")
    worked = virtual.filter(pl.col("reference_s") > 0)
    usual = worked.group_by("run").agg(usual_s=pl.col("reference_s").median())
    by_replicate = worked.group_by("study", "pair", "replicate").agg(replicate_s=pl.col("reference_s").median())
    own = virtual.filter(pl.col("reference_s").is_not_null(), pl.col("cpu_s").is_not_null())
    own = own.join(usual, on="run").join(by_replicate, on=["study", "pair", "replicate"])
    own = own.with_columns(own_s=pl.col("cpu_s") * pl.col("usual_s") / pl.col("replicate_s"))
    step = ["run", "study", "pair", "trial", "step"]
    apart = (pl.col("own_s") - pl.col("own_s").median()).abs().median()
    host = (
        own.filter(pl.col("flags").list.len() == 0)
        .group_by(step)
        .agg(
            host_s=pl.col("own_s").median(),
            unsteady=(pl.len() >= LEAST_REPLICATES) & (1.4826 * apart / pl.col("elapsed_s").median() > 0.05),
        )
        .with_columns(pl.col("unsteady").any().over("run", "study", "pair"))
    )
    parts = own.select(*step, "replicate", "own_s").join(host, on=step)
    both = virtual.join(parts, on=[*step, "replicate"], how="left", maintain_order="left")
    host_s = pl.when("unsteady").then("own_s").otherwise("host_s")
    phase = pl.col("cell").str.contains('"phase"') & ~pl.col("cell").str.contains('"phase": "commits"')
    jumped = phase & (
        pl.col("device_s") > pl.col("tier_io").list.eval(pl.element().struct.field("intended_s")).list.sum() + 0.1 * pl.col("elapsed_s")
    )
    kept = both.filter(~jumped.fill_null(value=False), ~pl.col("cell").str.contains('"clock"'))
    return kept.with_columns(elapsed_s=pl.coalesce(pl.col("device_s") + host_s, "elapsed_s"), operations=pl.lit(1.0))


def job_s(rows: pl.DataFrame, queries: list[str]) -> dict[int, float]:
    """Return replicate -> seconds of one operation of each query, of the replicates that have all of them unrejected."""
    each = rows.group_by("replicate", *queries).agg(pl.col("elapsed_s").sum() / pl.col("operations").sum())
    whole = each.group_by("replicate").agg(pl.col("elapsed_s").sum(), pl.len())
    return dict(whole.filter(pl.col("len") == whole["len"].max()).select("replicate", "elapsed_s").rows())


def study(rows: pl.DataFrame, name: str, pair: str, io_mode: str) -> pl.DataFrame:
    """Return the clean rows of a study in virtual time, with the keys of their cell as columns."""
    own = rows.filter(pl.col("study") == name, pl.col("pair") == pair, pl.col("io_mode") == io_mode, pl.col("flags").list.len() == 0)
    cells = pl.DataFrame([{key: str(value) for key, value in json.loads(cell).items()} for cell in own["cell"]], infer_schema_length=None)
    return pl.concat([own.drop("cell", "io_mode"), cells], how="horizontal")


def headlines(folder: Path) -> dict[tuple[str, str], tuple[float, float, float]]:
    rows = steady(pl.read_parquet(folder / "timings.parquet"))
    found: dict[tuple[str, str], tuple[float, float, float]] = {}

    census = study(rows, "index_placement", "source-m", "buffered").filter(pl.col("cache") == "cold", pl.col("variant") == "published")
    places = {"disks": ("hdd", "hdd"), "tables": ("ssd", "hdd"), "everything": ("ssd", "ssd")}
    counts = {name: job_s(census.filter(table=table, index=index), ["state"]) for name, (table, index) in places.items()}
    found |= {(CENSUS, name): estimate(counts["disks"], counts[name]) for name in ("tables", "everything")}

    survey = study(rows, "survey_placement", "source-h", "asynchronous").filter(~pl.col("query").is_in(["move", "sort"]))
    survey = survey.filter(pl.col("execution").is_null() | (pl.col("execution") == "0")) if "execution" in survey.columns else survey
    for workload, joins in ((JOINS, True), (CURVES, False)):
        own = survey.filter(pl.col("query").str.starts_with("join") == joins)
        times = {name: job_s(part, ["query"]) for (name,), part in own.group_by("placement")}
        found |= {
            (workload, label): estimate(times["all_hdd"], times[name])
            for name, label in (("source_ssd", "Source"), ("detection_ssd", "Detection"))
        }

    load = study(rows, "pgbench_placement", "source-v", "direct").with_columns(operations=pl.col("result_rows").cast(pl.Float64))
    load = load.filter(size="large", script="tpcb-like", clients="8", memory="1.0")
    for column, plain in (("protocol", "prepared"), ("synchronous_commit", "on"), ("processors", "")):
        if column in load.columns:
            load = load.filter(pl.col(column).is_null() | (pl.col(column) == plain))
    load = load.filter(pl.col("slowdown").cast(pl.Float64) == load["slowdown"].cast(pl.Float64).min())
    rates = {name: job_s(load.filter(table=table, index=index), []) for name, (table, index) in places.items()}
    found |= {(OLTP, name): estimate(rates["disks"], rates[name]) for name in ("tables", "everything")}

    log = study(rows, "wal_placement", "wal-placement", "direct").with_columns(operations=pl.col("result_rows").cast(pl.Float64))
    log = log.filter(clients="8", commit_delay_us="0")
    commits = {name: job_s(part, []) for (name,), part in log.group_by("wal")}
    return {**found, (PLAIN, LOG): estimate(commits["hdd"], commits["ssd"]), (CACHED, LOG): estimate(commits["cached"], commits["ssd"])}


if __name__ == "__main__":
    for (workload, placement), (value, low, high) in headlines(Path(sys.argv[1])).items():
        print(f"{workload}: {placement}, {value:.6g} ({low:.6g} to {high:.6g})")
