"""The verdict on every published claim, from the raw rows of one run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import duckdb

from tierwise.analysis import rules
from tierwise.analysis.claims import Claim, Claims, Fitted, Kind, load_claims
from tierwise.analysis.evidence import THROUGH, relations
from tierwise.analysis.flipping import Flip, flip
from tierwise.analysis.judging import Grounds, Judge, Judgement, Rows, decides_nearest
from tierwise.analysis.rules import Verdict
from tierwise.analysis.runs import newest_run
from tierwise.analysis.statistics import scope_of
from tierwise.analysis.today import Own, Today, today
from tierwise.analysis.views import ROWS, open_views
from tierwise.core import studies
from tierwise.core.words import Substrate
from tierwise.timings.manifest import load_manifest
from tierwise.timings.references import MANIFEST

DECIDED: Final = (Verdict.CONFIRMED, Verdict.CONTRADICTED)
JSON_VERSION: Final = 5
"""The version of the JSON form, one higher with every field that is renamed, dropped or means something else; version 1 was the list of
claims alone, what 3 calls `verdict_text` was `verdict` until 2, and what 4 calls `cases`, `case` and
`deciding_case` were `states`, `state` and `deciding_state` until 3. Since 5 a case contradicts by its `p_holm`."""
FEW_ORDERS: Final = 3
"""The largest number of orders that are spelled out as bounds; where there are more the ratios name them."""
NONE_OWN: Final[Mapping[str, Own]] = MappingProxyType({})
UNBOUNDED: Final = "no bounds"
"""Stands for the published bounds of a claim that has none."""


class ClaimVerdict(Judgement):
    """A claim, the judgement on its source's own pair, and in `here` the one on the reader's pair, if one was named; in `today` what the
    pair of today shows of it, which no verdict rests on.

    `flip` says whether the former hangs on bounds that are assumed.
    """

    id: str
    source: str
    statement: str
    kind: Kind
    how: str
    where: str
    quotation: str
    unjudged: str | None
    fitted: Fitted | None
    bounds: tuple[float | None, float | None] | None
    bounds_how: str | None
    bounds_text: str
    flip: Flip | None
    run_id: str | None
    profile: str | None
    here: Judgement | None = None
    today: Today | None = None


def judge(
    raw: Path,
    run_id: str | None = None,
    *,
    judges: Mapping[Kind, Judge],
    todays: Mapping[str, Own] = NONE_OWN,
    reference: Path | None = None,
    views: duckdb.DuckDBPyConnection | None = None,
) -> list[ClaimVerdict]:
    """Return one verdict for each claim of ``claims.toml``, in its order, by the judge of its kind, on run `run_id` (or the newest one);
    `todays`: what rooms tell of the pair of today themselves, by claim.

    Where the run in the folder `reference` is judged by the arms nearest to the sources, and this one is not, a verdict that it contradicts
    says so. `views`: what `open_views` gave for this run, where it is open already; views that claims are judged on are tables then.

    Raises `InputError` where `run_id` is unknown or its files break the schema. Without any run nothing is measured.
    """
    published = load_claims()
    with _rows(raw, newest_run(raw) if run_id is None else run_id, views=views) as rows:
        own = {claim.id: _own(published, claim, rows, judges) for claim in published.claims}
        beside = reference is not None and rows is not None and not decides_nearest(rows.manifest)
        theirs = _nearest_of(published, own, reference, judges) if reference is not None and beside else {}
        return [
            _verdict(
                claim,
                rows,
                own[claim.id],
                aside=_contradiction(own[claim.id], theirs.get(claim.id)),
                here=_here(published, claim, rows, judges),
                now=today(claim, rows, todays) if rows else None,
            )
            for claim in published.claims
        ]


def judge_changed(
    raw: Path, run_id: str, claims: Iterable[str], change: Callable[[duckdb.DuckDBPyConnection], None], *, judges: Mapping[Kind, Judge]
) -> dict[str, Judgement]:
    """Return what each of `claims` (ids) is found to be on its source's own pair, once `change` has altered the rows of the run `run_id`.

    `change` is as of `views.open_views`; nothing of the run itself changes.
    """
    wanted, published = set(claims), load_claims()
    with _rows(raw, run_id, change) as rows:
        return {claim.id: _own(published, claim, rows, judges) for claim in published.claims if claim.id in wanted}


def _own(published: Claims, claim: Claim, rows: Rows | None, judges: Mapping[Kind, Judge]) -> Judgement:
    """What `claim` is found to be on its source's own pair."""
    return judges[claim.kind](claim, Grounds(published.sources[claim.source].pair, rows, nearest=_nearest(published, claim)))


def _here(published: Claims, claim: Claim, rows: Rows | None, judges: Mapping[Kind, Judge]) -> Judgement | None:
    """What `claim` is found to be on the pair that the reader named."""
    if rows is None or not rows.manifest.reader_pair:
        return None
    return judges[claim.kind](claim, Grounds(rows.manifest.reader_pair, rows, readers=True, nearest=_nearest(published, claim)))


def _nearest(published: Claims, claim: Claim) -> str | None:
    nearest = published.sources[claim.source].nearest
    return nearest.arm if nearest else None


def _nearest_of(published: Claims, own: Mapping[str, Judgement], reference: Path, judges: Mapping[Kind, Judge]) -> dict[str, Judgement]:
    """What the run in the folder `reference`, if it is judged by the arms nearest to the sources, says of what `own` decides: only that can
    be contradicted, and not by money, which has no arm."""
    asked = [
        claim
        for claim in published.claims
        if own[claim.id].verdict in DECIDED and claim.kind is not Kind.COST and published.sources[claim.source].nearest
    ]
    if not asked or not decides_nearest(load_manifest(reference)):
        return {}
    known = _known_of(reference, (reference / MANIFEST).stat().st_mtime_ns, published.model_dump_json())
    if unknown := [claim for claim in asked if claim.id not in known]:
        with _rows(reference.parent, reference.name) as rows:
            known.update({claim.id: _own(published, claim, rows, judges) for claim in unknown})
    return {claim.id: known[claim.id] for claim in asked}


@lru_cache(maxsize=1)
def _known_of(reference: Path, written_ns: int, claims: str) -> dict[str, Judgement]:  # noqa: ARG001 - each of them is what is known of
    """What this process has found of the run in the folder `reference`, as it was `written_ns`, on these `claims`; to be added to."""
    return {}


def _contradiction(own: Judgement, theirs: Judgement | None) -> tuple[str, ...]:
    """The condition that `theirs`, of the reference run, is the opposite by another arm, where that is so."""
    if theirs is None or theirs.verdict not in DECIDED or own.verdict is theirs.verdict or own.decided_by == theirs.decided_by:
        return ()
    return (f"the reference run says {theirs.verdict} by {theirs.decided_by}, the arm nearest to the source",)


@contextmanager
def _rows(
    raw: Path,
    run_id: str | None,
    change: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    views: duckdb.DuckDBPyConnection | None = None,
) -> Iterator[Rows | None]:
    if run_id is None:
        yield None
        return
    with nullcontext(views) if views else open_views(raw, run_id, change) as connection:
        there = relations(connection)
        for name in (f"{study}{what}" for study in studies.having(ROWS) for what in ("", THROUGH)):
            if name in there:  # a view is reckoned anew for each state of each claim that is judged on it, a table once
                connection.execute(f"create temp table judged as from {name}; drop view {name}; alter table judged rename to {name}")
        yield Rows(connection, load_manifest(raw / run_id))


def as_json(verdicts: Sequence[ClaimVerdict]) -> dict[str, Any]:
    """Return `verdicts` as JSON values: the version of their form, and one object a claim."""
    return {"version": JSON_VERSION, "claims": [verdict.model_dump(mode="json") for verdict in verdicts]}


def as_text(verdicts: Sequence[ClaimVerdict]) -> str:
    """Return `verdicts` for a terminal: a line for each claim, one more for the reader's pair, and the statement below."""
    lines = []
    for verdict in verdicts:
        lines.append(f"{verdict.id:4}{verdict.verdict_text}")
        lines.append(f"    {verdict.statement}")
        lines.append(f"    quoted “{verdict.quotation}”")
        lines.append(f"    published {verdict.bounds_text}; {_finding(verdict)}{_flip(verdict.flip)}")
        lines += _cases(verdict)
        if verdict.fitted:
            lines.append(f"    fitted {verdict.fitted.parameter}, on {verdict.fitted.on}; left to be wrong: {verdict.fitted.left}")
        lines += [f"    arms {told}" for told in _arms(verdict)]
        if verdict.here is not None:
            lines.append(f"    here: {verdict.here.verdict_text}; {_finding(verdict.here)}")
            lines += _cases(verdict.here)
        if verdict.today is not None:
            lines.append(f"    today: {_today(verdict.today)}")
    scope = scope_of(max((case.runs for verdict in verdicts for case in verdict.cases), default=1))
    first = verdicts[0]
    run = f"run {first.run_id}, profile {first.profile}: {scope}" if first.run_id else "no complete run: make report measures one"
    return "\n".join([*lines, run, *tally_lines(verdicts)])


def tally_lines(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """Return how many claims are decided, how many of these are simulated, and what keeps the others open, with what would decide them."""
    decided = [claim for claim in verdicts if claim.verdict in DECIDED]
    words = Counter(claim.verdict for claim in decided)
    simulated = Counter(claim.verdict for claim in decided if claim.substrate is Substrate.SIMULATED)
    told = ", ".join(f"{words[word]} {word} ({simulated[word]} of them simulated)" for word in DECIDED if words[word])
    others = Counter(claim.verdict.mark for claim in verdicts if claim.verdict not in DECIDED)
    rest = ", ".join(f"{times} {word}" for word, times in others.most_common())
    lines = [f"claims: {len(decided)} of {len(verdicts)} decided" + (f": {told}" if told else "") + (f"; {rest}" if rest else "")]
    still: dict[tuple[str, str], list[str]] = {}
    for claim in verdicts:
        if claim.cause is not None:
            still.setdefault((claim.cause, claim.cure), []).append(claim.id)
    reported = [claim.id for claim in verdicts if claim.verdict is Verdict.REPORTED]
    lines += [f"open:   {', '.join(ids)}: {cause} (needs {needs})" for (cause, needs), ids in still.items()]
    return [*lines, *([f"shown:  {', '.join(reported)}: not judged; the Method says why"] if reported else [])]


def _finding(judgement: Judgement) -> str:
    """The numbers behind a verdict, with their substrate."""
    if judgement.evidence is not None:
        return f"found on {judgement.pair}, {judgement.substrate}: see the report, or --format json"
    if judgement.estimate is None:
        return judgement.reason
    flagged = f", {judgement.flagged} flagged" if judgement.flagged else ""
    if len(judgement.cases) > 1:
        return f"found on {judgement.pair}, {judgement.substrate}, in {len(judgement.cases)} cases{flagged}"
    where = f"{judgement.deciding_case} on {judgement.pair}, {judgement.deciding_arm}, {judgement.substrate}"
    return f"found {judgement.estimate:.3g} ({_interval(judgement.low, judgement.high)}; {where}; {judgement.pairs} repeats{flagged})"


def _interval(low: float | None, high: float | None) -> str:
    return "no interval" if low is None or high is None else f"{low:.3g} to {high:.3g}"


def _cases(judgement: Judgement) -> list[str]:
    """A line for each case of several, so that none hides another."""
    if len(judgement.cases) < 2:
        return []
    lines = []
    for case in judgement.cases:
        value = "none" if case.estimate is None else f"{case.estimate:.3g} ({_interval(case.low, case.high)})"
        repeats = f", {case.pairs} repeats" if case.pairs else ""
        tested = "" if case.p_value is None else f"; p {case.p_value:.2g}, after Holm {case.p_holm:.2g}"
        lines.append(f"        {case.case} {value}, {case.arm}{repeats}{tested}: {case.verdict}")
    return lines


def _today(found: Today) -> str:
    """What became of the rule on the pair of today, case by case."""
    told = (f"{one.case} {one.still}" + (f", {one.estimate:.3g} ({one.substrate})" if one.estimate else "") for one in found.cases)
    return f"{'; '.join(told) or 'not measured'} on {found.pair}, reported"


def _flip(found: Flip | None) -> str:
    """Whether the verdict hangs on assumed bounds, with the moved ones on which it would be another."""
    if found is None:
        return ""
    told = [f"{moved.verdict} by {moved.bounds_text}" for moved in (found.nearer, found.farther)]
    return f"; bounds moved by half: {'flips' if found.flips else 'stays'} ({', '.join(told)})"


def _arms(judgement: Judgement) -> list[str]:
    """A line for each outcome, with the arms that had it and their estimates."""
    of: dict[Verdict, list[str]] = {}
    for name, arm in judgement.arms.items():
        of.setdefault(arm.verdict, []).append(name if arm.estimate is None else f"{name} {arm.estimate:.3g}")
    return [f"{outcome}: {', '.join(told)}" for outcome, told in of.items()]


def _verdict(
    claim: Claim, rows: Rows | None, own: Judgement, *, aside: tuple[str, ...], here: Judgement | None, now: Today | None
) -> ClaimVerdict:
    bounds = rules.needed_bounds(claim)
    return ClaimVerdict(
        **dict(own) | {"conditions": (*own.conditions, *aside)},
        **claim.model_dump(include={"id", "statement", "kind", "how", "where", "quotation", "unjudged", "bounds_how"}),
        source=claim.source,
        bounds=None if bounds is None else (bounds.lower, bounds.upper),
        bounds_text=_bounds_text(claim),
        fitted=claim.fitted,
        flip=flip(claim, own),
        today=now,
        run_id=rows.manifest.run_id if rows else None,
        profile=rows.manifest.profile.get("name") if rows else None,
        here=here,
    )


def _bounds_text(claim: Claim) -> str:
    """The published bounds in words; a star marks those that the text does not give itself."""
    if len(claim.orders) > FEW_ORDERS:
        return f"each of the {len(claim.orders)} ratios above 1"
    if claim.orders and claim.bounds:
        return "; ".join(f"{order.greater} over {order.than}: {claim.bounds}{_star(claim)}" for order in claim.orders)
    if claim.orders:
        return "; ".join(f"{order.greater} > {order.than}" for order in claim.orders)
    if claim.bounds is None:
        return UNBOUNDED
    return f"{claim.bounds}{_star(claim)}"


def _star(claim: Claim) -> str:
    return "*" if claim.bounds_how == "assumed" else ""
