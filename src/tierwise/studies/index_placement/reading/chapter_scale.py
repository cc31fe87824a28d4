"""Part of the chapter on the census study: whether the number of rows matters to what the index's place does."""

from typing import Any, Final

from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.core.vocabulary import Evidence
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count
from tierwise.report.run import Run
from tierwise.report.scaling_table import FORM, Sizes, entries_of, observations, ratios, sentence, table
from tierwise.report.words import case_name
from tierwise.studies.index_placement.reading.chapter import STUDY
from tierwise.studies.index_placement.reading.figures import QUERY

STATE: Final = "NV"
"""The state that is counted at each size."""
VALUES: Final = "seconds"
CASE: Final = "index on SSD"


def carried(run: Run, pair: str) -> Sentence:
    """Return what the smaller sizes predict for the largest, what was found there, and what is emulated."""
    entries = entries_of(run, STUDY, pair, VALUES)
    if not entries:
        return Sentence(
            "This run has the counts at one size alone. `make report PROFILE=full` simulates one of them at three, of generated rows."
        )
    shown = _sizes(entries, _emulated(run, pair))
    return Sentence(
        f"What is left of the time of a cold count for {case_name(STATE)}, the table on HDD, at the published size and **simulated**: "
        f"{sentence(shown)}"
    )


def sizes(run: Run, pair: str) -> Table | Sentence:
    """Tabulate the ratio of index on ssd to index on hdd at each size, what the smaller ones predict for the largest, and the miss."""
    entries = entries_of(run, STUDY, pair, VALUES)
    if not entries:
        return Sentence("")
    emulated = _emulated(run, pair)
    note = run.note(pair, sum(one.repeats for one in emulated.values()), "paired ratios", QUERY)
    return table(
        _sizes(entries, emulated),
        "Left of the time",
        f"A cold count for {case_name(STATE)} with the index on SSD over the same with the index on HDD, the table on HDD, by rows of the "
        "census: each size is generated, loaded and asked anew in every replicate, by direct I/O, and the requests of the server are "
        "replayed "
        f"on the devices, stretched for that size (**{Evidence.SIMULATED}**, n = {count(observations(entries))}, from the run's "
        f"manifest). {FORM.format(repeat='replicate')} Emulated: at the largest size. {note}",
    )


def _sizes(entries: list[dict[str, Any]], emulated: dict[str, Estimate]) -> Sizes:
    lines = {CASE: ratios(entries, VALUES, "rows", of="ssd", over="hdd")}
    return Sizes(lines, float(entries[0]["published_rows"]), lambda rows: f"{count(round(rows))} rows", emulated)


def _emulated(run: Run, pair: str) -> dict[str, Estimate]:
    rows = run.query(
        "select replicate, ratio from index_placement where variant = 'published' and pair = ? and io_mode = 'direct' and cache = 'cold' "
        "and state = ? and not flagged and ratio is not null",
        [pair, STATE],
    ).rows()
    found = geometric_estimate(dict(rows))
    return {} if found.value is None else {CASE: found}
