"""Part of the chapter on the pgbench study: whether the size of the data matters, and what the gains are at the published size."""

from typing import Any, Final

from tierwise.analysis.scaling import Extrapolated, extrapolate
from tierwise.analysis.statistics import Estimate, enough, geometric_estimate
from tierwise.core.words import Substrate
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import count, interval, number
from tierwise.report.prices import run_note
from tierwise.report.run import Run
from tierwise.studies.pgbench_placement.reading.figures import PLACEMENTS
from tierwise.studies.pgbench_placement.reading.figures_map import STUDY
from tierwise.timings.replicates import seeds_of

MOVED: Final = ("index_ssd", "table_ssd")
Gains = dict[float, dict[int, float]]
"""Scale -> seed -> gain over everything on hdd."""


def gains_of(entries: list[dict[str, Any]], name: str) -> Gains:
    """Return the gain of the placement `name` at each scale, by seed."""
    return {
        float(one["scale"]): {
            seed: rate / base
            for seed, rate, base in zip(seeds_of(one, len(one["tps"][name])), one["tps"][name], one["tps"]["all_hdd"], strict=True)
        }
        for one in entries
    }


def carried(run: Run, pair: str) -> Sentence:
    """Return the gains at the published size, and how far the same line misses at the largest that was simulated."""
    entries = _entries(run, pair)
    if not entries:
        return Sentence("This run simulated the data at one size; `make report PROFILE=full` does at three.")
    told = "; ".join(
        f"{PLACEMENTS[name]} {_told(found.value)}, where the line through the two smaller sizes gives {_told(found.miss)} times "
        "what was found at the largest"
        for name in MOVED
        for found in [_carried_on(entries, name)]
    )
    return Sentence(f"At the published size the gains would be, **{Substrate.SIMULATED}**: {told}.")


def sizes(run: Run, pair: str) -> Table | Sentence:
    """Tabulate the gains at each size, at the published one, and the miss at the largest."""
    entries = _entries(run, pair)
    if not entries:
        return Sentence("")
    rows = []
    for name in MOVED:
        found, carried = gains_of(entries, name), _carried_on(entries, name)
        rows.append(
            [
                PLACEMENTS[name],
                *(_told(geometric_estimate(found[scale])) for scale in sorted(found)),
                *map(_told, (carried.value, carried.miss)),
            ]
        )
    scales = sorted(float(one["scale"]) for one in entries)
    return Table(
        ["Placement", *(f"Scale {count(int(scale))}" for scale in scales), f"Scale {count(entries[0]['published_scale'])}", "Miss"],
        rows,
        "Gains over everything on HDD by pgbench's scale (95 % interval), with memory and stretch to match, and at the published scale, "
        "to which a straight line through the logs of gain and scale is carried on, one a seed. Miss: what the line through the smaller "
        f"scales gives at the largest, over what was found there. {run_note(run, Substrate.SIMULATED, len(rows) * len(entries), 'gains')} "
        f"Pair `{pair}`; from the run's manifest.",
        align="l" + "r" * (len(scales) + 2),
    )


def _entries(run: Run, pair: str) -> list[dict[str, Any]]:
    record = run.record(STUDY, pair)
    known: list[dict[str, Any]] = (record.facts.get("by_scale") or []) if record else []
    return known if all(enough(len(one["tps"]["all_hdd"])) for one in known) else []


def _carried_on(entries: list[dict[str, Any]], name: str) -> Extrapolated:
    return extrapolate(gains_of(entries, name), float(entries[0]["published_scale"]))


def _told(found: Estimate) -> str:
    assert found.value is not None, "there are enough seeds"
    assert found.low is not None, "there are enough seeds"
    assert found.high is not None, "there are enough seeds"
    return f"{number(found.value)} ({interval(found.low, found.high)})"
