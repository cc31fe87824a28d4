"""What a first screen or a ranking says where its run has no answer: how much was rejected and why, and what the reference run found."""

from collections.abc import Callable
from typing import Final

from tierwise.analysis.rejections import Rejections, rejections
from tierwise.analysis.statistics import MINIMUM_REPEATS
from tierwise.report.display import Sentence
from tierwise.report.formats import count, listed, percent
from tierwise.report.reference import open_reference
from tierwise.report.run import Run

FLAGS: Final = {"host": "an unsteady host", "cpu": "busy processors", "stalled": "a stalled server", "jumped": "jumps of the clock"}
"""Flags of rows that are no word of the report."""


def answered(run: Run, study: str, pair: str, tell: Callable[[Run], str]) -> Sentence:
    """Return what `tell` makes of `run`; where that is nothing, why there is no answer, and what it makes of the reference run."""
    told = tell(run)
    return Sentence(told or "\n\n".join(filter(None, [no_answer(run, study, pair), from_reference(run, tell)])))


def no_answer(run: Run, study: str, pair: str) -> str:
    """Say that `study` has no five clean repeats on `pair`, and what became of its observations."""
    needs = f"an answer needs {MINIMUM_REPEATS} clean repeats"
    (replicates,) = run.query("select count(distinct replicate) from timings where study = ? and pair = ?", [study, pair]).row(0)
    repeated = (
        f" They are of {count(replicates)} {'replicate' if replicates == 1 else 'replicates'}." if 0 < replicates < MINIMUM_REPEATS else ""
    )
    return f"**No answer yet** from this run on the pair `{pair}`: {needs}. {told_rejected(run, study, pair)}{repeated}"


def told_rejected(run: Run, study: str = "", pair: str = "") -> str:
    """Return ``Of 70 emulated observations 56 (80.0 %) are rejected: 56 for overshoot.``, a sentence for each evidence."""
    found = rejections(run.connection, study, pair)
    return " ".join(map(_told, found)) or "It measured nothing there."


def from_reference(run: Run, tell: Callable[[Run], str]) -> str:
    """Return what `tell` makes of the reference run, stamped and with its scale; nothing where none ships, or `run` is that run."""
    reference = None if run.is_reference else open_reference()
    if reference is None:
        return ""
    profile = reference.manifest.profile
    scale = f"profile `{profile.get('name')}`, {percent(float(profile.get('fraction') or 1.0))} of the published rows"
    told = tell(reference) or f"no answer yet: it has not {MINIMUM_REPEATS} clean repeats either."
    return f"The {reference.name}, {scale}, says instead: {told}"


def in_place(run: Run, study: str, pair: str, what: str = "") -> Sentence:
    """Return what stands in place of a figure or a table: that there is no answer, and what became of the observations."""
    return Sentence(f"{what} {no_answer(run, study, pair)}".strip())


def _told(one: Rejections) -> str:
    head = f"Of {count(one.observations)} {one.evidence} observations"
    if not one.rejected:
        return f"{head} none is rejected."
    reasons = listed(f"{count(rows)} for {FLAGS.get(flag, flag)}" for flag, rows in one.reasons.items())
    return f"{head} {count(one.rejected)} ({percent(one.share)}) {'is' if one.rejected == 1 else 'are'} rejected: {reasons}."
