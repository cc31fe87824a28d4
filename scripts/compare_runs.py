"""Hold the raw rows of two runs of the same inputs against each other: has a change of the code altered what is measured?

    python scripts/compare_runs.py RUN_FOLDER RUN_FOLDER

Of what models alone gave, every numeric column must be the same; of what a server was asked, the blocks that were read of each relation,
and the rows of the answer. A running load never does the same twice, and a model that goes by figures of this machine does not either:
what is known of these is told and judges nothing. It ends with 1 where anything differs.
"""

import sys
from pathlib import Path
from typing import Final

import polars as pl
import polars.selectors as cs

from tierwise.timings import reads
from tierwise.timings.manifest import load_manifest
from tierwise.timings.parts import rows_so_far

KEY: Final = ["study", "pair", "trial", "block", "step"]
NESTED: Final = {"relation_io": "relation", "tier_io": "tier"}
"""Columns that are lists, and what names an element."""
LOADS: Final = ("transactions", reads.FOLDER)
"""What a run keeps of a load, study by study."""
TOLD: Final = 20


def figures(rows: pl.DataFrame) -> pl.DataFrame:
    """Every number of every row: `KEY`, its name (``elapsed_s``, ``relation_io.census.reads``) and the value."""
    flat = rows.select(*KEY, cs.numeric() - cs.by_name(KEY)).unpivot(index=KEY, variable_name="figure", value_name="value")
    found = [flat.with_columns(pl.col("value").cast(pl.Float64))]
    for column, named in NESTED.items():
        each = rows.select(*KEY, column).explode(column).unnest(column).drop_nulls(named)
        numbers = each.select(*KEY, named, cs.numeric() - cs.by_name(KEY)).unpivot(index=[*KEY, named], variable_name="figure")
        name = pl.concat_str(pl.lit(f"{column}."), named, pl.lit("."), "figure")
        found.append(numbers.select(*KEY, name.alias("figure"), pl.col("value").cast(pl.Float64)))
    return pl.concat(found)


def of_a_server(known: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `known` that are the same in every execution: pages read of each relation, and the rows of the answer."""
    return known.filter((pl.col("figure") == "result_rows") | pl.col("figure").str.contains(r"^relation_io\..*\.reads$"))


def differing(before: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
    """`KEY`, `figure`, ``value`` and ``value_now`` of the figures that are not the same number, or are in one of them alone."""
    both = before.join(now, on=[*KEY, "figure"], how="full", coalesce=True, suffix="_now")
    alone = pl.col("value").is_null() ^ pl.col("value_now").is_null()
    return both.filter(alone | pl.col("value").ne_missing(pl.col("value_now"))).sort(*KEY, "figure")


def compare(before: Path, now: Path) -> int:
    """Print study by study what differs between the runs in two folders; the number of differences."""
    runs = [rows_so_far(folder) for folder in (before, now)]
    manifests = [load_manifest(folder) for folder in (before, now)]
    alone = {record.name for manifest in manifests for record in manifest.studies if not record.server_version}
    of_this_machine = {name.split("/")[0] for manifest in manifests for name in manifest.calibrations}
    wrong = 0
    for study, pair in sorted(set().union(*(rows.select("study", "pair").unique().rows() for rows in runs))):
        own = [rows.filter(study=study, pair=pair) for rows in runs]
        told = f"{study} on {pair}: {own[0].height} and {own[1].height} rows"
        loaded = any((folder / kind / study).exists() for folder in (before, now) for kind in LOADS)
        if loaded or (study in alone and pair in of_this_machine):
            pages, answers = (
                [known.filter(pl.col("figure").str.contains(name))["value"].sum() for known in map(figures, own)]
                for name in (r"^relation_io\..*\.reads$", "^result_rows$")
            )
            print(f"{told}; not judged: {pages[0]:,.0f} and {pages[1]:,.0f} pages for {answers[0]:,.0f} and {answers[1]:,.0f} answers")
            continue
        known = [figures(rows) if study in alone else of_a_server(figures(rows)) for rows in own]
        found = differing(*known)
        wrong += found.height
        print(f"{told}, {known[0].height:,} figures; {found.height} differ")
        for *_, trial, block, step, figure, first, second in found.head(TOLD).rows():
            print(f"  {trial}, block {block}, step {step}: {figure} is {first} before, {second} now")
    return wrong


def main() -> None:
    before, now = map(Path, sys.argv[1:])
    sys.exit(compare(before, now) > 0)


if __name__ == "__main__":
    main()
