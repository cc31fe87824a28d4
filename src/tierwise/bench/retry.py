"""Whole blocks added, once, for what was rejected: the earlier rows stay, and all clean repeats of all blocks count."""

from pathlib import Path

import polars as pl

from tierwise.bench.book import update
from tierwise.core.progress import say
from tierwise.core.words import Substrate
from tierwise.timings.manifest import Manifest, Retry, load_manifest
from tierwise.timings.parts import rows_so_far, without_checks


def plan_retry(rows: pl.DataFrame) -> Retry:
    """Plan for each study and pair with rejected rows as many whole blocks as the trial with the most rejected ones has lost.

    A block is every trial once, because ratios pair trials of one block: none is drawn anew alone. What is simulated is not drawn again.
    """
    flagged = rows.filter(pl.col("flags").list.len() > 0, pl.col("substrate") != Substrate.SIMULATED)
    lost = flagged.group_by("study", "pair", "trial").agg(pl.col("block").n_unique())
    blocks = lost.group_by("study", "pair").agg(pl.col("block").max()).sort("study", "pair")
    rejected = flagged.group_by("study", "pair").len().sort("study", "pair")
    return Retry(
        blocks={f"{study}/{pair}": int(number) for study, pair, number in blocks.rows()},
        rejected={f"{study}/{pair}": int(number) for study, pair, number in rejected.rows()},
    )


def begin_retry(folder: Path) -> Manifest:
    """Return the manifest of the run in `folder` with blocks added for what was rejected; as it is where that was done once, or nothing
    was.

    The run is no longer complete where there is something to measure.
    """
    manifest = load_manifest(folder)
    if manifest.retry is not None:
        say("RETRY: blocks were added to this run once; a second draw would be a choice (FRESH=1 measures anew)")
        return manifest
    retry = plan_retry(without_checks(rows_so_far(folder)))
    if not retry.blocks:
        say("RETRY: nothing of this run was rejected")
        return manifest
    told = ", ".join(f"{number} of {name} ({retry.rejected[name]} rows rejected)" for name, number in retry.blocks.items())
    say(f"RETRY: whole blocks are added: {told}; the earlier rows stay")
    whole, begun = (
        [record for record in manifest.studies if (f"{record.name}/{record.pair}" in retry.blocks) is added] for added in (False, True)
    )
    reopened = update(manifest, retry=retry, studies=whole, begun=begun, status="running", finished_at=None)
    reopened.save(folder)
    return reopened
