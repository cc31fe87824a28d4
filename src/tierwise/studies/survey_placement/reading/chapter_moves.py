"""Parts of the survey's chapter on placement and of the one on advice: files moved to the SSDs for a job and back (H11)."""

from collections.abc import Iterable
from typing import Final

from tierwise.advisor.moving import MovePlan
from tierwise.core.vocabulary import Evidence, Way
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, MINUS, count, difference, interval, number, seconds, size
from tierwise.report.no_answer import in_place
from tierwise.report.run import Run
from tierwise.report.words import marked
from tierwise.studies.survey_placement.reading.moves import MOVED, STUDY, Moved, moves_of, plans_of, predicted_s, published_plans
from tierwise.studies.survey_placement.reading.shown import PLACEMENT, SURVEY

CLAIM: Final = "H11"
WAYS: Final = {Way.SERVER: "page by page", Way.BANDWIDTH: "at bandwidth"}


def answer(run: Run, pair: str) -> Sentence:
    claim = next((claim for claim in run.verdicts if claim.id == CLAIM), None)
    if claim is None:
        return Sentence("")
    plans = plans_of(run.connection, pair, moves_of(run.connection, pair))
    paying = {key: plan for key, plan in plans.items() if plan.break_even_jobs is not None}
    told = ""
    if paying:
        least, most = (which(paying, key=lambda key: paying[key].break_even_jobs or 0.0) for which in (min, max))
        ends = " and ".join(f"{number(paying[key].break_even_jobs or 0.0)} ({_case(*key)})" for key in dict.fromkeys((least, most)))
        never = len(plans) - len(paying)
        told = (
            f" Timed by the server on {_evidence(paying.values())} tiers, the moves that save time in every repeat pay after "
            f"{'between ' if least != most else ''}{ends} jobs."
            + (f" {count(never)} of {count(len(plans))} save nothing in some repeat." if never else "")
        )
    return Sentence(f"**{CLAIM}.** {claim.statement} Verdict: {marked(claim)}.{told}")


def moves(run: Run, pair: str) -> Table | Sentence:
    """Tabulate each timed move, beside the same move simulated."""
    found = moves_of(run.connection, pair)
    if not found:
        return _nothing(run, pair)
    predicted = {moved.placement: predicted_s(run.connection, pair, moved) for moved in found}
    rows = [
        [
            MOVED[moved.placement],
            size(sum(moved.sizes_bytes.values())),
            seconds(moved.there.mean_s),
            seconds(moved.back.mean_s),
            seconds(moved.device_s.mean_s),
            *(
                (DASH, DASH, DASH)
                if (simulated_s := predicted[moved.placement]) is None
                else (
                    seconds(simulated_s),
                    difference(simulated_s / moved.device_s.mean_s),
                    difference(simulated_s / moved.both_s),
                )
            ),
        ]
        for moved in found
    ]
    return Table(
        ["Moved", "Size", "There", "Back", "Devices' part", "Simulated", "Error, devices", "Error, whole"],
        rows,
        "Files moved from the disks to the SSDs by `ALTER TABLE ... SET TABLESPACE` and back, one after the other, in a server that held "
        f"none of them: **{_moved_evidence(found)}**, geometric means, with what the devices took of both ways; and the same moves "
        f"**{Evidence.SIMULATED}** from the devices' models, page by page, with nothing of this run in them but the sizes. The host's "
        "time and the free space maps are not simulated: what is missing from the whole is theirs. "
        f"{run.note(pair, sum(len(moved.there.by_replicate) for moved in found), 'moves there and back', PLACEMENT.query)}",
        align="lrrrrrrr",
    )


def break_evens(run: Run, pair: str) -> Table | Sentence:
    plans = plans_of(run.connection, pair, moves_of(run.connection, pair))
    if not plans:
        return _nothing(run, pair)
    return Table(
        ["Moved", "A job", "There and back", "Saves", "Pays after jobs (95 % interval)", "Pays within one job?"],
        [
            [
                MOVED[placement],
                PLACEMENT.queries[query],
                seconds(plan.there_s + plan.back_s),
                seconds(plan.saved_s).replace("-", MINUS),
                _pays(plan),
                marked(plan.pays) + (f" ({plan.reason})" if plan.reason else ""),
            ]
            for (placement, query), plan in plans.items()
        ],
        "The time of the move there and back over what a job saves, both as the server took them, of the same replicate. A dash: a "
        "job saves nothing in some repeat. The data are scaled down: moves shrink with them, and so does the join by a single index, but "
        "not the light curves, so that at the published size those moves pay later. "
        f"{run.note(pair, _repeats(plans.values()), 'repeats', PLACEMENT.query)}",
        align="llrrrl",
    )


def published_size(run: Run, pair: str) -> Table | Sentence:
    """Tabulate the same at the published size: simulated copies, the source's bars."""
    plans = published_plans(run.connection, pair, moves_of(run.connection, pair))
    if not plans:
        return _nothing(run, pair)
    return Table(
        ["Moved", "Size", "A job", "Copied", "There and back", "Saves", "Pays after jobs"],
        [
            [
                MOVED[placement],
                size(sum(plan.relations.values())),
                PLACEMENT.queries[query],
                WAYS[way],
                seconds(plan.there_s + plan.back_s),
                seconds(plan.saved_s).replace("-", MINUS),
                "never" if plan.break_even_jobs is None else number(plan.break_even_jobs),
            ]
            for (placement, query, way), plan in plans.items()
        ],
        f"At the published size: copies **{Evidence.SIMULATED}** (beyond the first requests at the pace of those, which the arrays' write "
        f"caches may still hold: assumed, and so the least), against what a job saves by the **{Evidence.PUBLISHED}** bars, which are "
        f"inferred (`{SURVEY}`). How large the tables were is assumed too. Kinds of evidence are mixed: no verdict. "
        f"{run.stamp}, pair `{pair}`, n = {count(len(plans))} cases; sizes from the manifest's facts.",
        align="lrllrrr",
    )


def _nothing(run: Run, pair: str) -> Sentence:
    return in_place(run, STUDY, pair, "No move of files was timed often enough.")


def _case(placement: str, query: str) -> str:
    return f"{MOVED[placement]} for *{PLACEMENT.queries[query]}*"


def _pays(plan: MovePlan) -> str:
    if plan.break_even_jobs is None:
        return DASH
    return number(plan.break_even_jobs) + ("" if plan.low is None or plan.high is None else f" ({interval(plan.low, plan.high)})")


def _repeats(plans: Iterable[MovePlan]) -> int:
    return sum(plan.pairs for plan in plans)


def _evidence(plans: Iterable[MovePlan]) -> Evidence:
    return Evidence.of({of for plan in plans for of in (plan.move_evidence, plan.job_evidence)})


def _moved_evidence(found: Iterable[Moved]) -> Evidence:
    return Evidence.of({moved.there.evidence for moved in found})
