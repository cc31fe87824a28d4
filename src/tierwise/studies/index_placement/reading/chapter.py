"""Chapter on the census study: page reads, verdicts, planner, predictions, and the reader's own pair."""

import json
from statistics import median
from typing import Any, Final

from tierwise.analysis.claims import Kind
from tierwise.analysis.statistics import enough
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count, difference, listed, percent, seconds, span
from tierwise.report.no_answer import in_place
from tierwise.report.run import Run
from tierwise.report.words import CACHES, IO_MODES, case_name, claim_sentence, estimated, marked
from tierwise.studies.index_placement.reading.figures import PLACEMENTS, QUERY, io_modes, main_io_mode

STUDY: Final = "index_placement"
QUERIED: Final = ("FL", "PR", "NV", "FL->PR", "PR->NV", "NV->FL")
AGREEMENT: Final = 0.10
"""How near a predicted time should come to the emulated one."""


def cold_times(run: Run, pair: str) -> Sentence:
    io_mode = main_io_mode(run, pair)
    rows = run.query(
        "select table_tier, index_tier, median(elapsed_s) from index_placement_observations where variant = 'published' and pair = ? "
        "and cache = 'cold' and state = 'FL' and io_mode = ? and len(flags) = 0 group by all having enough(elapsed_s)",
        [pair, io_mode],
    )
    if rows.is_empty():
        return in_place(run, STUDY, pair, "How long the cold count takes on each placement is not told.")
    medians = {(table, index): seconds(time_s) for table, index, time_s in rows.iter_rows()}
    told = listed(f"{medians[placement]} with {name}" for placement, name in PLACEMENTS.items() if placement in medians)
    return Sentence(f"Cold, the count for Florida takes {told} (medians of clean counts, {IO_MODES[io_mode]}).")


def reads(run: Run, pair: str) -> Table:
    """Return pages asked of the storage, by relation, over all placements and replicates of the interleaving."""
    rows = run.query(
        """
        select io_mode, cache, state, min(heap_reads), max(heap_reads), min(index_reads), max(index_reads),
               min(heap_hits + index_hits), max(heap_hits + index_hits), count(*)
        from index_placement_observations where variant = 'published' and pair = ? group by io_mode, cache, state
        """,
        [pair],
    ).rows()
    rows.sort(key=lambda row: (list(IO_MODES).index(row[0]), list(CACHES).index(row[1]), QUERIED.index(row[2])))
    cells = [
        [IO_MODES[io_mode], cache, case_name(state), span(numbers[0:2]), span(numbers[2:4]), span(numbers[4:6]), count(numbers[6])]
        for io_mode, cache, state, *numbers in rows
    ]
    several = len(io_modes(run, pair)) > 1
    header = ["I/O", "Cache", "State", "Table pages read", "Index pages read", "Pages found cached", "n"]
    return Table(
        header if several else header[1:],
        cells if several else [row[1:] for row in cells],
        "Pages of 8 KiB that each count asked of the storage, by relation: the range over every placement and repetition. "
        f"{run.note(pair, sum(row[-1] for row in rows), 'observations', QUERY)}",
        align="lllrrrr" if several else "llrrrr",
    )


def share_of_index(run: Run, pair: str) -> Sentence:
    """Return how much of a cold count's reading is the index: the most that a faster index could save."""
    rows = run.query(
        "select state, median(index_reads), median(heap_reads) from index_placement_observations "
        "where variant = 'published' and pair = ? and cache = 'cold' group by state",
        [pair],
    ).rows()
    rows.sort(key=lambda row: QUERIED.index(row[0]))
    if not rows:
        return Sentence(f"No row of this run is about the pair `{pair}`.")
    told = "; ".join(
        f"{case_name(state)} {count(round(index))} of {count(round(index + heap))} ({percent(index / max(index + heap, 1))})"
        for state, index, heap in rows
    )
    return Sentence(
        f"Of the pages that a cold count reads, the index has: {told}. Where nearly all reads go to the table, an index that cost nothing "
        "at all would leave nearly all of the time."
    )


def verdicts(run: Run) -> Sentence:
    told = (
        claim_sentence(claim) + (" @sec-planner has the figures." if claim.kind is Kind.SHAPE else "")
        for claim in run.verdicts
        if claim.source == "M"
    )
    return Sentence("\n\n".join(told))


def predictions(run: Run, pair: str) -> Table | Sentence:
    """Tabulate the cold times that one placement's recorded requests predict for all, beside what was emulated in the same replicate."""
    record = run.record(STUDY, pair)
    predicted: list[dict[str, Any]] = (record.facts.get("predictions") or []) if record else []
    emulated = run.query(
        "select trial, replicate, any_value(cell) as cell, any_value(elapsed_s) as elapsed_s, "
        "list_sum([io.intended_s for io in any_value(tier_io)]) as devices_s from timings "
        "where study = ? and pair = ? and cache = 'cold' and len(flags) = 0 group by trial, replicate",
        [STUDY, pair],
    )
    seen = {(row["trial"], row["replicate"]): row for row in emulated.rows(named=True)}
    rows, errors, n = [], [], 0
    for one in sorted(predicted, key=lambda one: _order(one["trial"])):
        told = zip(one["replicates"], one["predicted_s"], one["devices_s"], strict=True)
        both = [
            (seen[one["trial"], replicate], time_s, devices_s) for replicate, time_s, devices_s in told if (one["trial"], replicate) in seen
        ]
        if not enough(len(both)):
            continue
        cell = json.loads(both[0][0]["cell"])
        error = median(time_s / found["elapsed_s"] for found, time_s, _ in both) - 1
        of_devices = median(devices_s / found["devices_s"] for found, _, devices_s in both) - 1
        recorded = one["trial"] == one["reference"]
        errors += [] if recorded else [(error, of_devices)]
        n += len(both)
        rows.append(
            [
                IO_MODES[cell["io_mode"]],
                case_name(cell["state"]),
                PLACEMENTS[cell["table"], cell["index"]],
                count(one["requests"]),
                seconds(median(time_s for _, time_s, _ in both)),
                seconds(median(found["elapsed_s"] for found, _, _ in both)),
                "recorded" if recorded else difference(1 + error),
                difference(1 + of_devices),
            ]
        )
    if not rows:
        needs = "Nothing is predicted that could be held against enough clean counts on emulated tiers."
        return in_place(run, STUDY, pair, needs)
    within, within_devices = (sum(abs(pair_of[part]) <= AGREEMENT for pair_of in errors) for part in (0, 1))
    return Table(
        ["I/O", "State", "Placement", "Requests", "Simulated", "Emulated", "Error", "Devices alone"],
        rows,
        "Cold counts predicted (simulated) from the requests and host times of one recorded trace, and emulated: medians, and "
        "the median error over the repeats, of the whole and of the devices' share, which a busy machine alters less. "
        f"Of {count(len(errors))}, {count(within)} are within {percent(AGREEMENT)}; of the devices' shares {count(within_devices)}. "
        f"{run.note(pair, n, 'repeats', QUERY)}",
        align="lllrrrrr",
    )


def _order(trial: str) -> tuple[int, int, int]:
    cell = dict(part.split("=", 1) for part in trial.split("/"))
    return list(IO_MODES).index(cell["io_mode"]), QUERIED.index(cell["start"]), list(PLACEMENTS).index((cell["table"], cell["index"]))


def here(run: Run) -> Sentence:
    pair = run.manifest.reader_pair
    if pair is None:
        return Sentence("No pair of your own was named in this run. `make report TIERS=local` adds the disk that this checkout lies on.")
    head = f"The pair `{pair}` ({run.evidence(pair) or 'nothing measured'}):"
    lines = [
        f"- {claim.id}: {marked(claim.here)}"
        + (
            f", {estimated(claim.here)} in {case_name(claim.here.deciding_case)}, n = {count(claim.here.pairs)} repeats"
            if claim.here.deciding_case
            else ""
        )
        for claim in run.verdicts
        if claim.source == "M" and claim.here
    ]
    return Sentence("\n".join([head, "", *lines]))
