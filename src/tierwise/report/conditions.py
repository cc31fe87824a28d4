"""The I/O modes, clocks and assumed processors of the rows that an exhibit shows, for its caption."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from tierwise.analysis.deciding import mode_in
from tierwise.core.vocabulary import ClockKind
from tierwise.report.exhibit_registry import IO_MODE, Exhibit
from tierwise.report.run import Run
from tierwise.report.words import IO_MODES

PROCESSORS: Final = 2  # processors that the clock of several sessions assumes, where a study's facts name no other number
MEASURED_SQL: Final = """
select distinct study, io_mode, clock from timings
where list_contains($pairs, pair) and evidence <> 'simulated' and ($study = '' or study = $study)
"""


def conditions(run: Run, exhibit: Exhibit, pairs: Sequence[str], rows: pl.DataFrame) -> Mapping[str, object]:
    """Return `modes`, `clocks` (``virtual`` or ``real``) and `processors`; empty where it is not known which rows are shown."""
    there = run.query(MEASURED_SQL, {"pairs": list(pairs), "study": exhibit.study}) if pairs else pl.DataFrame()
    modes = _modes(run, exhibit, pairs, rows, there)
    shown = there.filter(pl.col("io_mode").is_in(modes)) if modes else pl.DataFrame()
    if shown.is_empty():
        return {"modes": [], "clocks": [], "processors": []}
    several = shown.filter(clock=str(ClockKind.VIRTUAL_SEVERAL))["study"].unique()
    assumed = {int(record.facts.get("processors", PROCESSORS)) for record in run.manifest.studies if record.name in set(several)}
    return {
        "modes": [IO_MODES[mode].removesuffix(" I/O") for mode in IO_MODES if mode in modes],
        "clocks": sorted({clock.partition("-")[0] for clock in shown["clock"]}, reverse=True),
        "processors": [str(number) for number in sorted(assumed)],
    }


def _modes(run: Run, exhibit: Exhibit, pairs: Sequence[str], rows: pl.DataFrame, there: pl.DataFrame) -> list[str]:
    if IO_MODE in rows.columns:
        return [mode for mode in rows[IO_MODE].unique() if mode in IO_MODES]
    if f"${IO_MODE}" in exhibit.sql:
        return sorted({str(mode_in(run.store, exhibit.study, pair)) for pair in pairs})
    known = there["io_mode"].unique().to_list() if exhibit.study and there.height else []
    return known if len(known) == 1 else []
