"""Whole replicates added, once, for what was rejected: the earlier rows stay, and all clean repeats of all replicates count."""

from pathlib import Path

import polars as pl

from tierwise.bench.run_record import update
from tierwise.core.progress import say
from tierwise.core.vocabulary import Evidence
from tierwise.timings.manifest import Manifest, Retry, load_manifest
from tierwise.timings.parts import rows_so_far, without_real_time_rows


def plan_retry(rows: pl.DataFrame) -> Retry:
    """Plan for each study and pair as many whole replicates as the trial with the most rejected rows has lost; none for simulated rows."""
    flagged = rows.filter(pl.col("flags").list.len() > 0, pl.col("evidence") != Evidence.SIMULATED)
    lost = flagged.group_by("study", "pair", "trial").agg(pl.col("replicate").n_unique())
    replicates = lost.group_by("study", "pair").agg(pl.col("replicate").max()).sort("study", "pair")
    rejected = flagged.group_by("study", "pair").len().sort("study", "pair")
    return Retry(
        replicates={f"{study}/{pair}": int(number) for study, pair, number in replicates.rows()},
        rejected={f"{study}/{pair}": int(number) for study, pair, number in rejected.rows()},
    )


def begin_retry(folder: Path) -> Manifest:
    """Return the manifest of the run in `folder`, with replicates added for what was rejected, unless that was done once already."""
    manifest = load_manifest(folder)
    if manifest.retry is not None:
        say("RETRY: this run already got its additional replicates, and gets no more (FRESH=1 measures a new run)")
        return manifest
    retry = plan_retry(without_real_time_rows(rows_so_far(folder)))
    if not retry.replicates:
        say("RETRY: no row of this run was rejected")
        return manifest
    added = ", ".join(f"{number} of {name} ({retry.rejected[name]} rows rejected)" for name, number in retry.replicates.items())
    say(f"RETRY: adding whole replicates: {added}. The earlier rows stay.")
    whole, begun = (
        [record for record in manifest.studies if (f"{record.name}/{record.pair}" in retry.replicates) is added] for added in (False, True)
    )
    reopened = update(manifest, retry=retry, studies=whole, begun=begun, status="running", finished_at=None)
    reopened.save(folder)
    return reopened
