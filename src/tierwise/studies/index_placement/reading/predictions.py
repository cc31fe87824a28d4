"""How far the cold times that one placement's recorded requests predict for the others are from the emulated ones."""

from statistics import median

from tierwise.analysis.statistics import enough
from tierwise.report.run import Run
from tierwise.studies.index_placement.reading.names import SQL, STUDY


def errors(run: Run, pair: str) -> list[float]:
    """Return the median error of each predicted trial over its replicates, of those that were also emulated often enough."""
    seen = {(trial, replicate): time_s for trial, replicate, time_s in run.query(SQL["emulated"], {"study": STUDY, "pair": pair}).rows()}
    found, record = [], run.record(STUDY, pair)
    for one in (record.facts.get("predictions") or []) if record else []:
        predicted = zip(one["replicates"], one["predicted_s"], strict=True)
        ratios = [time_s / seen[one["trial"], replicate] for replicate, time_s in predicted if (one["trial"], replicate) in seen]
        if enough(len(ratios)) and one["trial"] != one["reference"]:
            found.append(median(ratios) - 1)
    return found
