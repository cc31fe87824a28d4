"""The last chapter: all statements of all sources by question, where sources meet and why, and which placement comes first by what."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from tierwise.advisor.advice import ServiceTimes
from tierwise.advisor.ranking import advised, gains_of
from tierwise.advisor.strategies import Strategy, rank
from tierwise.advisor.workload import FAST, SLOW, Workload
from tierwise.analysis.questions import Questions, load_questions
from tierwise.analysis.rules import Verdict
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.analysis.verdicts import DECIDED
from tierwise.core.vocabulary import Evidence
from tierwise.costs.iops import RATED
from tierwise.report.chapters.conclusion_rows import Found, cheapest_with_flash, gather, places, shown_by
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, listed, number, seconds
from tierwise.report.no_answer import from_reference, told_rejected
from tierwise.report.prices import book_of, run_note
from tierwise.report.run import Run
from tierwise.report.words import marked

__all__ = ["answer", "finding", "gather", "meetings", "questions", "strategies"]

NO_RANKING: Final = f"A ranking needs two placements with {MINIMUM_REPEATS} clean jobs each."


def questions(run: Run) -> Table:
    """Tabulate the verdicts on the statements of the five sources by the question that they answer; of what nothing was measured it says
    so.
    """
    rows = []
    for question in load_questions().questions:
        words = [_outcome(run, claim) for claim in question.claims]
        told = [f"{claim} {marked(word)}" for claim, word in zip(question.claims, words, strict=True)]
        rows.append([question.title, "; ".join(told), f"{count(sum(word in DECIDED for word in words))} of {count(len(words))}"])
    evidence = Evidence.of({claim.evidence for claim in run.verdicts if claim.evidence} or {Evidence.PUBLISHED})
    return Table(
        ["Question", "Verdicts", "Decided"],
        rows,
        f"Verdicts by question. {_tally(run, load_questions())} {run_note(run, evidence, len(run.verdicts), 'statements')} "
        "Input: `data/published/questions.toml`.",
        align="llr",
    )


def _tally(run: Run, asked: Questions) -> str:
    words = Counter(_outcome(run, claim) for question in asked.questions for claim in question.claims)
    return f"Of {count(sum(words.values()))}, {listed(f'{count(words[word])} {word}' for word in Verdict if words[word])}."


def _outcome(run: Run, claim: str) -> Verdict:
    found = run.verdict(claim)
    return Verdict.NOT_MEASURED if found is None else found.verdict


def meetings(found: Found) -> Table:
    """Return where sources agree and contradict each other, what this run says of each, and what explains it."""
    rows, told = [], shown_by()
    for topic in load_questions().meetings:
        here = "; ".join(f"{claim} {marked(_outcome(found.run, claim))}" for claim in topic.claims)
        texts, why = f"They {topic.meeting}. {topic.says}", f"{topic.explanation} ({', '.join(topic.why)})"
        rows.append([f"**{topic.topic}.** {texts}", f"{here}. {_begun(told[topic.shown_by](found))}.", why])
    return Table(
        ["What the texts say", "What this run says", "What may explain it"],
        rows,
        "Where statements meet. What this run says is computed, verdicts first, and what it has no rows of reads "
        f"*{Verdict.NOT_MEASURED}*; what may explain it is a conjecture. {found.run.stamp}. Input: `data/published/questions.toml`.",
    )


def _begun(text: str) -> str:
    return text[0].upper() + text[1:]


def strategies(found: Found) -> Table | Sentence:
    """Tabulate each placement of each workload with enough clean jobs, with its rank by time, by cost per IOPS and by cost per query."""
    rows = [row for name, every in _comparable(found).items() for row in _ranked(name, every)]
    if not rows:
        return Sentence(f"Placements are not ranked. {NO_RANKING} {told_rejected(found.run)}")
    currency = book_of(found.run).currency
    ranked = [strategy for every in _comparable(found).values() for strategy in every]
    jobs = sum(strategy.job_s.repeats for strategy in ranked)
    evidence_kinds = sorted({str(strategy.evidence) for strategy in ranked})
    return Table(
        ["Workload", "Placement", "A job (rank)", f"{currency} a year for an IOPS (rank)", f"{currency} for a million jobs (rank)"],
        rows,
        "Placements by time, by what an I/O a second that the devices could serve costs "
        f"({RATED}, simulated), and by what a million jobs cost, one after the other. Whole devices are counted, each that the "
        "placement uses. Of a workload those with enough clean jobs "
        "are ranked, where two are. "
        f"{found.run.stamp}, **{listed(evidence_kinds)}**, n = {count(jobs)} jobs. Input: `data/prices`, `data/costs`.",
        align="llrrr",
    )


RANKED: Final[tuple[Callable[[Strategy], float | None], ...]] = (
    lambda strategy: strategy.job_s.value,
    lambda strategy: strategy.cost_per_iops,
    lambda strategy: strategy.cost_per_million,
)


def _ranked(name: str, every: Sequence[Strategy]) -> list[list[str]]:
    ranks = [rank(every, value) for value in RANKED]
    rows, named = [], places()
    for position, strategy in enumerate(every):
        values = [value(strategy) for value in RANKED]
        shown = [DASH if value is None else (seconds if column == 0 else number)(value) for column, value in enumerate(values)]
        shown_ranks = [f" ({of[strategy.name]})" if strategy.name in of else "" for of in ranks]
        cells = [value + place for value, place in zip(shown, shown_ranks, strict=True)]
        rows.append([name if position == 0 else "", named[strategy.name], *cells])
    return rows


def _comparable(found: Found) -> dict[str, list[Strategy]]:
    return {name: every for name, every in found.strategies.items() if len(every) > 1}


def finding(found: Found) -> str:
    """Say of how many workloads a job costs least with flash, as a chapter's title; empty where none can be ranked."""
    flash, every = cheapest_with_flash(found)
    return f"a job costs least with an SSD in {count(flash)} of {count(every)} {'workload' if every == 1 else 'workloads'}" if every else ""


def answer(found: Found) -> Sentence:
    """Return what to do with one array of disks and one SSD: the first by each measure, and which relation saves most for its size.

    Where nothing can be ranked, why, and the reference run's answer.
    """
    told = _answer(found)
    instead = "" if told else from_reference(found.run, lambda reference: _answer(gather(reference)))
    refused = f"**No answer yet** from this run on what to do with one array of disks and one SSD. {NO_RANKING} {told_rejected(found.run)}"
    return Sentence(told or "\n\n".join(filter(None, [refused, instead])))


def _answer(found: Found) -> str:
    told = []
    for name, every in _comparable(found).items():
        firsts = [_first(every, value) for value in RANKED]
        if not firsts[0]:
            continue
        workload = found.services[name][0] if name in found.services else None
        best = advised(gains_of(workload)) if workload else None
        choice = f"Move to *{places()[best.placement]}*" if best else "No move surely saves time"
        line = f"**{name}.** {choice if workload else f'The fastest placement is *{firsts[0]}*'}"
        if firsts[1] and firsts[2]:
            line += f"; the cheapest by the IOPS that the devices could serve is *{firsts[1]}*, and by the job *{firsts[2]}*"
        saved = _saved(*found.services[name]) if name in found.services else {}
        worth = [f"`{one}`" for one in sorted(saved, key=lambda one: -saved[one]) if saved[one] > 0]
        line += (
            f". With little space on the SSD, move what saves most time for its size, in this order: {', '.join(worth)} "
            "(simulated, from one recorded trace)"
            if worth
            else ""
        )
        told.append(f"{line}.")
    return "\n\n".join(told)


def _saved(workload: Workload, service_s: ServiceTimes) -> dict[str, float]:
    """Relation -> seconds that a byte of it on the SSD saves a job."""
    return {
        relation.name: (service_s[relation.name][SLOW] - service_s[relation.name][FAST]) / relation.size_bytes
        for relation in workload.relations
        if service_s and relation.size_bytes
    }


def _first(every: Sequence[Strategy], value: Callable[[Strategy], float | None]) -> str:
    ranks, named = rank(every, value), places()
    return listed(named[name] for name, place in ranks.items() if place == 1)
