"""Chapter on advice: which relation belongs on the SSD, how good that is, how well it was predicted, and whether a move pays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from tierwise.advisor.advice import Advice, Question, ServiceTimes, advise, times_by_seed
from tierwise.advisor.moving import MovePlan, move_of
from tierwise.advisor.service import SEED
from tierwise.advisor.workload import FAST, Measured, Workload, workload_of
from tierwise.analysis import heat
from tierwise.core import studies
from tierwise.core.errors import MissingError
from tierwise.core.units import GIB
from tierwise.core.vocabulary import Evidence, RelationClass, Way
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, difference, listed, number, percent, seconds, size
from tierwise.report.no_answer import from_reference, told_rejected
from tierwise.report.prices import book_of
from tierwise.report.run import Run
from tierwise.report.words import IO_MODES, marked, spelled

NAMES: Final = {
    "all hdd": "all on HDD",
    "indexes ssd": "indexes on SSD",
    "tables ssd": "tables on SSD",
    "all ssd": "all on SSD",
    "Source ssd": "Source on SSD",
    "Detection ssd": "Detection on SSD",
}
"""What the advice calls the cells of `workload.CELLS` and the studies' own placements, by name."""
AGREEMENT: Final = 0.10
"""How near a predicted time should come to the one that was seen; the same as of the replays."""

MINOR: Final = 0.01
"""Share of a job's requests below which a relation decides nothing."""


@dataclass(frozen=True)
class Advised:
    """A workload of the run with what its relations take on each tier, and the advice for each space on the SSD.

    `missing` says why there is none.
    """

    run: Run
    study: str
    pair: str
    workload: Workload | None
    by_seed: Mapping[int, ServiceTimes]
    advice: Sequence[Advice]
    missing: str = ""

    @property
    def service_s(self) -> ServiceTimes:
        """Return the service times of the seed that the advice is for."""
        return self.by_seed[SEED]

    @property
    def sentence(self) -> Sentence:
        """Return what stands in place of a table where the run has nothing to advise on, or too little."""
        return Sentence(f"No advice from this run: {self.missing}. {told_rejected(self.run, self.study, self.pair)}")

    def predicted_s(self, placement: Mapping[str, str]) -> float | None:
        """Return seconds of a job (simulated) on tiers as slow as the measured ones; `None` where one of them has no model."""
        if self.workload is None or any(tier not in self.service_s[name] for name, tier in placement.items()):
            return None
        storage_s = sum(self.service_s[name][tier] for name, tier in placement.items())
        return self.workload.host_s + self.workload.slowdown * storage_s

    def note(self, n: int, what: str) -> str:
        assert self.workload is not None, "there are rows"
        known = self.workload
        return (
            f"{self.run.stamp}, pair `{known.pair}`, **{Evidence.SIMULATED}** from **{known.evidence}** requests, "
            f"{IO_MODES[known.requests_io_mode]}, "
            f"n = {count(n)} {what}. Query: `{studies.path(known.study, heat.HEAT)}`."
        )


def advised(run: Run, study: str, pair: str) -> Advised:
    """Return the quickest placement for no space, for space for the indexes, for the tables and for all, from `study`'s rows on `pair`."""
    try:
        workload = workload_of(run.connection, run.folder, study=study, pair=pair)
    except MissingError as missing:
        return Advised(run, study, pair, None, {}, (), str(missing))
    by_seed, book = times_by_seed(workload), book_of(run)
    found = [advise(workload, Question(size_gib), book, by_seed[SEED]) for size_gib in sizes_gib(workload)]
    return Advised(run, study, pair, workload, by_seed, found)


def sizes_gib(workload: Workload) -> list[float]:
    """Return the sizes of an SSD that is asked about, in GiB, rising: space for nothing, for all indexes, for all tables, for
    everything.
    """
    of_class = {
        word: sum(relation.size_bytes for relation in workload.relations if relation.relation_class is word) for word in RelationClass
    }
    whole = sum(of_class.values())
    return sorted({size_bytes / GIB for size_bytes in (0, of_class[RelationClass.INDEX], of_class[RelationClass.TABLE], whole)})


def finding(found: Advised) -> str:
    """Return what the least space on the SSD is for, as a chapter's title; empty without advice."""
    first = next(([name for name, tier in advice.placement.items() if tier == FAST] for advice in found.advice if advice.ssd_gib), [])
    return f"with little space, the SSD is for {listed(first)} ({Evidence.SIMULATED})" if first else ""


def recommendation(found: Advised) -> Table | Sentence:
    """Say for each space what belongs on the SSD, what a job then takes, and its regret against the fixed placements and all others.

    Where the run gives no advice, why, and the reference run's in a sentence.
    """
    if not found.advice:
        instead = from_reference(found.run, lambda reference: _in_words(advised(reference, found.study, found.pair)))
        return Sentence("\n\n".join(filter(None, [found.sentence.text, instead])))
    one = found.advice[0]
    header = [
        "Space on SSD",
        "Belongs there",
        "A job",
        *(f"Against {NAMES[other.name]}" for other in one.alternatives),
        "Against the best",
    ]
    return Table(
        header,
        [_advice_row(advice) for advice in found.advice],
        f"The placement for the space on the SSD, chosen by {_chosen(found.advice)}: what a job ({listed(map(spelled, one.queries))}) "
        f"takes, and the regret, its time "
        "over that of another placement less one. Below zero the advice is better; in brackets where the other does not fit the space. The "
        f"best is found by looking at all {count(one.placements)} placements. {found.note(len(found.advice), 'placements advised')}",
        align="ll" + "r" * (len(header) - 2),
    )


def _chosen(advice: Sequence[Advice]) -> str:
    measured = [one for one in advice if one.chosen_by is not Evidence.SIMULATED]
    if not measured:
        return "simulated times"
    spaces = listed(size(one.ssd_gib * GIB) for one in measured)
    return f"{measured[0].chosen_by} times for {spaces}" + (", by simulated times otherwise" if len(measured) < len(advice) else "")


def _in_words(found: Advised) -> str:
    """``with 12.1 MiB on the SSD `pob`, with ...``; nothing without advice."""
    sentences = [
        f"with {size(advice.ssd_gib * GIB)} on the SSD {listed(f'`{name}`' for name, tier in advice.placement.items() if tier == FAST)}"
        for advice in found.advice
        if FAST in advice.placement.values()
    ]
    return f"there belong, {'; '.join(sentences)} ({found.note(len(sentences), 'placements advised')})" if sentences else ""


def _advice_row(advice: Advice) -> list[str]:
    on_ssd = [f"`{name}`" for name, tier in advice.placement.items() if tier == FAST]
    best = "too many" if advice.exhaustive is None else _signed(advice.exhaustive.regret)
    return [
        size(advice.ssd_gib * GIB),
        listed(on_ssd) or DASH,
        seconds(advice.job_s),
        *(_signed(one.regret) if one.fits else f"({_signed(one.regret)})" for one in advice.alternatives),
        best,
    ]


def relations(found: Advised) -> Table | Sentence:
    if not found.advice:
        return found.sentence
    rows = [
        [
            f"`{placed.relation}`",
            str(placed.relation_class),
            size(placed.size_bytes),
            number(placed.requests),
            seconds(placed.service_s["hdd"]),
            seconds(placed.service_s["ssd"]),
            number((placed.service_s["hdd"] - placed.service_s["ssd"]) / (placed.size_bytes / GIB)) if placed.size_bytes else DASH,
        ]
        for placed in found.advice[0].relations
    ]
    basis = listed(sorted({placed.basis for placed in found.advice[0].relations}))
    return Table(
        ["Relation", "Class", "Size", "Requests", "On HDD", "On SSD", "Saved a GiB (s)"],
        rows,
        f"What a job asks of each relation, how long that takes on either tier, and what a GiB on the SSD saves. The order of requests: "
        f"{basis}. {found.note(len(rows), 'relations')}",
        align="llrrrrr",
    )


def check(found: Advised) -> Table | Sentence:
    """Return each measured placement: what was predicted from the requests of one of them, and what the server took."""
    if found.workload is None:
        return found.sentence
    cells = {name: (measured, found.predicted_s(measured.placement)) for name, measured in found.workload.replayed.items()}
    judged = {name: (measured, time_s) for name, (measured, time_s) in cells.items() if time_s is not None}
    if not judged:
        return Sentence("No measured placement can be predicted: each has a relation on a tier without a model.")
    seen = listed(sorted({str(measured.evidence) for measured, _ in judged.values()}))
    return Table(
        ["Placement", "Advised for", "Predicted", "Seen", "95 % interval", "Error"],
        [_check_row(found, name, measured, time_s) for name, (measured, time_s) in judged.items()],
        f"Predicted times of a job (simulated) beside those that the server took ({seen}). Requests and the host's time are those of the "
        f"placement *{NAMES[found.workload.reference]}*. {check_words(found)} Advised for: the space for which this is the "
        f"advice, but for relations with less than {percent(MINOR)} of the requests. "
        f"{found.note(sum(len(measured.job_s) for measured, _ in judged.values()), 'jobs')}",
        align="llrrrr",
    )


def check_words(found: Advised) -> str:
    errors = list(check_errors(found).values())
    if not errors:
        return "Nothing was measured but the placement that the requests are from."
    near = sum(abs(error) <= AGREEMENT for error in errors)
    told = f"Of {count(len(errors))} other placements, {count(near)} {'is' if near == 1 else 'are'} within {percent(AGREEMENT)}"
    return f"{told}; median error {_signed(median(errors))}."


def check_errors(found: Advised) -> dict[str, float]:
    """Return the predicted time over the seen one, less one, by placement, but for the one that the requests are from."""
    errors = {}
    for name, measured in found.workload.replayed.items() if found.workload else ():
        predicted_s, seen_s = found.predicted_s(measured.placement), measured.estimate.value
        if found.workload and name != found.workload.reference and predicted_s is not None and seen_s is not None:
            errors[name] = predicted_s / seen_s - 1
    return errors


def _check_row(found: Advised, name: str, measured: Measured, predicted_s: float) -> list[str]:
    seen = measured.estimate
    interval = DASH if seen.low is None or seen.high is None else f"{seconds(seen.low)} to {seconds(seen.high)}"
    errors = check_errors(found)
    error = "taken from it" if found.workload and name == found.workload.reference else _signed(errors[name]) if name in errors else DASH
    advised_for = [size(advice.ssd_gib * GIB) for advice in found.advice if _agrees(advice, measured.placement)]
    return [
        NAMES[name],
        listed(advised_for) or DASH,
        seconds(predicted_s),
        DASH if seen.value is None else seconds(seen.value),
        interval,
        error,
    ]


def _agrees(advice: Advice, measured: Mapping[str, str]) -> bool:
    whole = sum(placed.requests for placed in advice.relations)
    return all(measured.get(placed.relation) == placed.tier for placed in advice.relations if placed.requests >= MINOR * whole)


def moves(found: Advised) -> Table | Sentence:
    """Tabulate what copying to the SSD for a job and back takes, in both ways of copying."""
    if found.workload is None:
        return found.sentence
    plans = {
        (name, way, predict): move_of(found.workload, moved, way=way, predict=predict, service_s=found.by_seed)
        for name, moved in _moved(found.workload).items()
        for way in Way
        for predict in (False, True)
    }
    return Table(
        ["Moved", "Copied", "There", "Back", "A job saves", "Pays after jobs (95 % interval)", "Pays within one job?"],
        [_move_row(name, plan) for (name, _, _), plan in plans.items()],
        "Copying relations to the SSD and back against what a job saves there. Page by page: as `ALTER TABLE ... SET TABLESPACE` does it "
        "past a page cache; at bandwidth: the slower of reading and writing. The copies are simulated. "
        f"{found.note(sum(plan.pairs for plan in plans.values()), 'repeats')}",
        align="llrrrrl",
    )


def _moved(workload: Workload) -> dict[str, list[str]]:
    cells = {name: measured.placement for name, measured in workload.measured.items()}
    moved = {name: [relation for relation, tier in placement.items() if tier == FAST] for name, placement in cells.items()}
    return {NAMES[name]: relations for name, relations in moved.items() if relations}


def _move_row(name: str, plan: MovePlan) -> list[str]:
    pays = DASH if plan.break_even_jobs is None else number(plan.break_even_jobs)
    interval = "" if plan.low is None or plan.high is None else f" ({number(plan.low)} to {number(plan.high)})"
    return [
        name,
        "page by page" if plan.way is Way.SERVER else "at bandwidth",
        seconds(plan.there_s),
        seconds(plan.back_s),
        f"{seconds(plan.saved_s)} ({plan.job_evidence})",
        pays + interval,
        marked(plan.pays),
    ]


def _signed(share: float) -> str:
    return difference(1 + share)
