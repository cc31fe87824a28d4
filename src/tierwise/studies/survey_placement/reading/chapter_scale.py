"""Part of the chapter on the survey's second battery: whether the size of the survey matters to what its largest table gains on SSDs."""

from typing import Any, Final

from tierwise.analysis.statistics import Estimate, geometric_estimate
from tierwise.core.vocabulary import Evidence
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count
from tierwise.report.run import Run
from tierwise.report.scaling_table import FORM, Sizes, entries_of, observations, ratios, sentence, table
from tierwise.studies.survey_placement.reading.shown import PLACEMENT

ASKED: Final = "join_single"
"""The query that is asked at each size."""
MOVED: Final = "detection_ssd"
BASE: Final = "all_hdd"
VALUES: Final = "seconds"


def carried(run: Run, pair: str) -> Sentence:
    """Return what is left of the join's time at the published size, and how far the same line misses at the largest that was simulated."""
    entries = entries_of(run, PLACEMENT.study, pair, VALUES)
    if not entries:
        return Sentence("This run has the survey at one size; `make report PROFILE=full` simulates one of the joins at three.")
    shown = _sizes(entries, _emulated(run, pair))
    return Sentence(
        "At the published size, which is assumed, this would be left of the time of the join by a single index, "
        f"**{Evidence.SIMULATED}**: {sentence(shown)}"
    )


def sizes(run: Run, pair: str) -> Table | Sentence:
    """Tabulate what is left of the join's time with Detection on the SSDs at each size, at the published one, and the miss."""
    entries = entries_of(run, PLACEMENT.study, pair, VALUES)
    if not entries:
        return Sentence("")
    emulated = _emulated(run, pair)
    note = run.note(pair, sum(one.repeats for one in emulated.values()), "paired ratios", PLACEMENT.query)
    return table(
        _sizes(entries, emulated),
        "Left of the time",
        "Source and Detection joined by a single index, with Detection on the SSDs over everything on the disks, by detections: each size "
        "is generated, loaded and asked anew in every replicate, by direct I/O, and the requests of the server are replayed on the "
        "devices, "
        f"stretched for that size (**{Evidence.SIMULATED}**, n = {count(observations(entries))}, from the run's manifest); the published "
        f"number is assumed. {FORM.format(repeat='replicate')} Emulated: at the largest size. {note}",
    )


def _sizes(entries: list[dict[str, Any]], emulated: dict[str, Estimate]) -> Sizes:
    lines = {PLACEMENT.places[MOVED]: ratios(entries, VALUES, "rows", of=MOVED, over=BASE)}
    return Sizes(lines, float(entries[0]["published_rows"]), lambda rows: f"{count(round(rows))} detections", emulated)


def _emulated(run: Run, pair: str) -> dict[str, Estimate]:
    rows = run.query(
        "select replicate, ratio from survey_placement where pair = ? and io_mode = 'direct' and query = ? and placement = ? and not "
        "flagged",
        [pair, ASKED, MOVED],
    ).rows()
    found = geometric_estimate(dict(rows))
    return {} if found.value is None else {PLACEMENT.places[MOVED]: found}
