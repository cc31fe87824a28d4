"""The verdict on every published claim, from the raw rows of one run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import duckdb

from tierwise.analysis import rules
from tierwise.analysis.causes import Cause, phrase
from tierwise.analysis.claim_rows import Rows, relations
from tierwise.analysis.claims import Claim, Claims, Kind, load_claims
from tierwise.analysis.judging import ClaimVerdict, Grounds, Judges, decides, named
from tierwise.analysis.rates import compare_rates, held_to
from tierwise.analysis.rules import DECIDED, Verdict
from tierwise.analysis.runs import newest_run, run_label
from tierwise.analysis.statistics import scope_of
from tierwise.analysis.today import Own, Today, today
from tierwise.analysis.views import ROWS, open_views
from tierwise.core import studies
from tierwise.core.rule_history import Change, load_rules
from tierwise.core.text_table import wrapped
from tierwise.core.text_template import render
from tierwise.core.vocabulary import Evidence
from tierwise.timings.manifest import Manifest, load_manifest
from tierwise.timings.references import MANIFEST

JSON_VERSION: Final = 8  # the version of the JSON form, one higher with every field that is renamed, dropped or means something else
FEW_ORDERS: Final = 3  # the largest number of orders that are spelled out as bounds; where there are more the ratios name them
NONE_OWN: Final[Mapping[str, Own]] = MappingProxyType({})
UNBOUNDED: Final = phrase("bounds.none")  # stands for the published bounds of a claim that has none


def judge(
    raw: Path,
    run_id: str | None = None,
    *,
    judges: Judges,
    todays: Mapping[str, Own] = NONE_OWN,
    reference: Path | None = None,
    views: duckdb.DuckDBPyConnection | None = None,
) -> list[ClaimVerdict]:
    """Return one verdict for each claim of ``claims.toml``, in its order, by the judge of its kind, on run `run_id` (or the newest one).

    `todays`: what studies themselves report of the pair of today, by claim.
    A verdict by another I/O mode than the deciding one says so where the run in the folder `reference` contradicts it by the latter.
    `views`: what `open_views` gave for this run, where it is open already; views that claims are judged on are tables then.
    """
    published = load_claims()
    with _rows(raw, newest_run(raw) if run_id is None else run_id, views=views) as rows:
        readers, own = rows and rows.manifest.reader_pair, _own_of(published, published.every, rows, judges)
        theirs = _deciding_of(published, own, reference, judges) if reference is not None and rows is not None else {}
        return [
            _verdict(
                claim,
                rows,
                own[claim.id],
                aside=_contradiction(own[claim.id], theirs.get(claim.id)),
                here=judges[claim.kind](claim, Grounds(readers, rows, readers=True)) if readers else None,
                now=today(claim, rows, todays) if rows else (),
            )
            for claim in published.every
        ]


def _own_of(published: Claims, claims: Sequence[Claim], rows: Rows | None, judges: Judges) -> dict[str, ClaimVerdict]:
    pairs = {claim.id: claim.pair or published.sources[claim.source].pair for claim in claims}
    found = {claim.id: judges[claim.kind](claim, Grounds(pairs[claim.id], rows)) for claim in claims}
    if rows is None:
        return found
    compared = compare_rates(rows)
    return {claim.id: held_to(claim, found[claim.id], compared, rows.manifest) for claim in claims}


def _deciding_of(published: Claims, own: Mapping[str, ClaimVerdict], reference: Path, judges: Judges) -> dict[str, ClaimVerdict]:
    decided = [
        claim
        for claim in published.every
        if own[claim.id].verdict in DECIDED and claim.cases and not decides(own[claim.id], published.deciding[claim.cases[0].study])
    ]
    if not decided:
        return {}
    known = _known_of(reference, (reference / MANIFEST).stat().st_mtime_ns, published.model_dump_json())
    if unknown := [claim for claim in decided if claim.id not in known]:
        with _rows(reference.parent, reference.name) as rows:
            known.update(_own_of(published, unknown, rows, judges))
    return {claim.id: known[claim.id] for claim in decided}


@lru_cache(maxsize=1)
def _known_of(reference: Path, written_ns: int, claims: str) -> dict[str, ClaimVerdict]:  # noqa: ARG001 - each of them is what is known of
    return {}


def _contradiction(own: ClaimVerdict, theirs: ClaimVerdict | None) -> tuple[str, ...]:
    if theirs is None or theirs.verdict not in DECIDED or own.verdict is theirs.verdict or named(own) == named(theirs):
        return ()
    return (phrase("conditions.reference_says", verdict=theirs.verdict, named=named(theirs)),)


@contextmanager
def _rows(raw: Path, run_id: str | None, views: duckdb.DuckDBPyConnection | None = None) -> Iterator[Rows | None]:
    if run_id is None:
        yield None
        return
    with nullcontext(views) if views else open_views(raw, run_id) as connection:
        there = relations(connection)
        for name in studies.having(ROWS):
            if name in there:  # a view is reckoned anew for each state of each claim that is judged on it, a table once
                connection.execute(f"create temp table judged as from {name}; drop view {name}; alter table judged rename to {name}")
        yield Rows(connection, load_manifest(raw / run_id))


def as_json(verdicts: Sequence[ClaimVerdict]) -> dict[str, Any]:
    return {"version": JSON_VERSION, "claims": [verdict.model_dump(mode="json") for verdict in verdicts]}


def as_text(verdicts: Sequence[ClaimVerdict]) -> str:
    """Return `verdicts` for a terminal: of the published ones how many are decided and what keeps the others open, then what was found."""
    published = {claim.id for claim in load_claims().claims}
    counted = [claim for claim in verdicts if claim.id in published] or verdicts
    scope = scope_of(max((case.runs for verdict in verdicts for case in verdict.cases), default=1))
    run = run_label(verdicts[0].run_id) if verdicts[0].run_id else ""
    return wrapped(render("analysis/text/claims.txt", run=run, scope=scope, claims=verdicts, others=_others, **_tally(counted)))


def _tally(verdicts: Sequence[ClaimVerdict]) -> dict[str, object]:
    decided = [claim for claim in verdicts if claim.verdict in DECIDED]
    still: dict[tuple[Cause, str], list[str]] = {}
    for claim in verdicts:
        if claim.cause is not None:
            still.setdefault((claim.cause, claim.cure), []).append(claim.id)
    words_of = Counter(claim.verdict for claim in decided)
    simulated = Counter(claim.verdict for claim in decided if claim.evidence is Evidence.SIMULATED)
    return {
        "every": len(verdicts),
        "decided": len(decided),
        "by_verdict": [(word, words_of[word], simulated[word]) for word in DECIDED if words_of[word]],
        "rest": Counter(claim.verdict.mark for claim in verdicts if claim.verdict not in DECIDED).most_common(),
        "still": [(ids, cause, needs) for (cause, needs), ids in still.items()],
        "reported": [claim.id for claim in verdicts if claim.verdict is Verdict.REPORTED],
    }


def _others(judgement: ClaimVerdict) -> dict[Verdict, list[str]]:
    of: dict[Verdict, list[str]] = {}
    for one in judgement.others:
        of.setdefault(one.verdict, []).append(named(one) if one.estimate is None else f"{named(one)} {one.estimate:.3g}")
    return of


def _verdict(
    claim: Claim, rows: Rows | None, own: ClaimVerdict, *, aside: tuple[str, ...], here: ClaimVerdict | None, now: tuple[Today, ...]
) -> ClaimVerdict:
    bounds = rules.needed_bounds(claim)
    of_the_claim = ("id", "source", "statement", "kind", "how", "where", "quotation", "unjudged", "bounds_how", "fitted", "certain")
    return own.model_copy(
        update={
            **{name: getattr(claim, name) for name in of_the_claim},
            "conditions": (*own.conditions, *aside),
            "bounds": None if bounds is None else (bounds.lower, bounds.upper),
            "bounds_text": _bounds_text(claim),
            **(marks_of(claim, rows.manifest) if rows and own.verdict in DECIDED else {}),
            "today": now,
            "run_id": rows.manifest.run_id if rows else None,
            "profile": rows.manifest.profile.get("name") if rows else None,
            "here": here,
        }
    )


def _bounds_text(claim: Claim) -> str:
    stated = f"{claim.bounds}{'*' if claim.bounds_how == 'assumed' else ''}"
    if len(claim.orders) > FEW_ORDERS:
        return phrase("bounds.orders", number=len(claim.orders))
    if claim.orders and claim.bounds:
        return "; ".join(f"{order.greater} over {order.than}: {stated}" for order in claim.orders)
    if claim.orders:
        return "; ".join(f"{order.greater} > {order.than}" for order in claim.orders)
    return UNBOUNDED if claim.bounds is None else stated


ADVICE: Final = "advice"  # the group of the rules by which the first page advises
SEVERAL: Final = 2  # the number of cases from which on a claim has several


def changes_of(claim: Claim, since: int = 0) -> list[Change]:
    """Return the changes that apply to `claim`, but for the first `since` of all."""
    return _changes(_groups(claim), since)


def marks_of(claim: Claim, manifest: Manifest) -> Mapping[str, bool]:
    """Return the two marks of a verdict on `claim` by the run of `manifest`, as fields of the verdict."""
    groups = _groups(claim)
    return {"rule_newer": changed_since(manifest, groups), "rule_after_results": any(change.seen for change in _changes(groups))}


def changed_since(manifest: Manifest, groups: Set[str]) -> bool:
    """Return whether a rule for one of `groups` is newer than the run of `manifest`."""
    if manifest.rules is None:
        return any(change.day > manifest.started_at.date() for change in _changes(groups))
    return bool(_changes(groups, since=manifest.rules.version))


def _groups(claim: Claim) -> Set[str]:
    if load_claims().sources[claim.source].own:
        return {claim.id}  # it was written under the rules of its day, so older changes of general rules say nothing of it
    orders = claim.kind is Kind.ORDER and claim.bounds is None
    several = len(claim.orders or claim.cases) >= SEVERAL
    return {claim.id, "all"} | ({"orders"} if orders else set()) | ({"cases"} if several else set())


def _changes(groups: Set[str], since: int = 0) -> list[Change]:
    return [change for change in load_rules().changes[since:] if groups & set(change.claims)]
