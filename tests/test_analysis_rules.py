"""Each rule by which an interval becomes a verdict, with its boundary cases."""

import random
from collections.abc import Sequence
from math import exp
from typing import Any

import pytest

from tierwise.analysis.causes import Cause, Reason, cure
from tierwise.analysis.claims import Bounds, Claim
from tierwise.analysis.rules import (
    COUNTS,
    CaseVerdict,
    Series,
    Verdict,
    after_holm,
    combine,
    furthest_outside,
    judge_series,
    needed_bounds,
    order_series,
)
from tierwise.analysis.statistics import holm
from tierwise.core.vocabulary import Evidence, IoMode

CONFIRMED, CONTRADICTED, UNDECIDED = Verdict.CONFIRMED, Verdict.CONTRADICTED, Verdict.UNDECIDED
CASE = {"name": "x", "study": "s", "select": {"cache": "cold"}}
TWO = [CASE, {**CASE, "name": "y"}]
ORDERS = [{"greater": "x", "than": "y"}]


def claim(kind: str = "ratio", **fields: Any) -> Claim:
    reported = {"statement": "so it is", "how": "stated", "where": "p. 1", "quotation": "so it is"}
    table = {"id": "M9", "kind": kind, **reported, "cases": [CASE], **fields}
    return Claim.model_validate(table)


def bounded(lower: float | None = None, upper: float | None = None, *, strict: bool = False) -> Claim:
    return claim(bounds={"lower": lower, "upper": upper, "strict": strict}, bounds_how="stated")


def series(values: Sequence[float], *, case: str = "x", io_mode: IoMode = IoMode.DIRECT, flagged: Sequence[int] = ()) -> Series:
    return Series(case, io_mode, frozenset({Evidence.EMULATED}), dict(enumerate(values)), frozenset(flagged))


def around(value: float, spread: float = 0.01) -> list[float]:
    """Five values with geometric mean `value`; their interval is about `value` times 1 -+ 2 `spread`."""
    return [value * (1 + spread) ** power for power in (-2, -1, 0, 1, 2)]


def judged_alone(claim: Claim, one: Series, withheld: Verdict | None = None) -> CaseVerdict:
    (judged,) = judge_series(claim, [one], withheld)
    return judged


@pytest.mark.parametrize(
    ("value", "spread", "verdict"),
    [
        (0.06, 0.01, CONFIRMED),
        (0.5, 0.01, CONTRADICTED),
        (0.01, 0.01, CONTRADICTED),
        (0.10, 0.01, UNDECIDED),
        (0.03, 0.01, UNDECIDED),
        (0.06, 0.90, UNDECIDED),  # the interval holds both bounds
        (0.101, 0.01, UNDECIDED),  # the estimate is outside, the interval reaches in
    ],
)
def test_two_sided_bounds(value: float, spread: float, verdict: Verdict) -> None:
    assert judged_alone(bounded(0.03, 0.10), series(around(value, spread))).verdict is verdict


@pytest.mark.parametrize(("value", "verdict"), [(0.1, CONFIRMED), (0.2, UNDECIDED), (0.9, CONTRADICTED)])
def test_an_upper_bound_alone(value: float, verdict: Verdict) -> None:
    assert judged_alone(bounded(upper=0.20), series(around(value))).verdict is verdict


def test_a_bound_belongs_to_its_interval_unless_it_is_strict() -> None:
    assert Bounds(lower=1, upper=2).contain(1, 2)
    assert not Bounds(lower=1, upper=2, strict=True).contain(1, 1.5)
    assert not Bounds(lower=1, upper=2, strict=True).contain(1.5, 2)
    assert not Bounds(lower=1, upper=2).exclude(0.5, 1)
    assert not Bounds(lower=1, upper=2).exclude(2, 3)
    assert Bounds(lower=1, upper=2).exclude(0.5, 0.999)
    assert Bounds(lower=1, upper=2).exclude(2.001, 3)


def test_four_pairs_estimate_and_decide_nothing() -> None:
    judged = judged_alone(bounded(0.03, 0.10), series([0.06] * 4))
    assert judged.estimate is None
    assert (judged.low, judged.high, judged.pairs, judged.verdict) == (None, None, 4, UNDECIDED)


def test_repeats_that_do_not_differ_decide_nothing() -> None:
    """An interval of equal repeats has no width, and would confirm or contradict whatever the bound is."""
    judged = judged_alone(bounded(0.03, 0.10), series([0.06] * 5))
    assert (judged.low, judged.high) == pytest.approx((0.06, 0.06))
    assert (judged.verdict, judged.p_value) == (UNDECIDED, None)
    assert combine([judged], expected=1)[1] is Cause.FLAT


@pytest.mark.parametrize(
    ("shares", "verdict", "conditions"),
    [
        ([0.76, 0.77, 0.78, 0.77, 0.76], CONFIRMED, ()),
        ([0.01, 0.02, 0.03, 0.02, 0.01], CONTRADICTED, ()),
        ([0.9, 0.2, 0.9, 0.2, 0.9], UNDECIDED, ()),
        ([0.001] * 5, CONTRADICTED, (COUNTS,)),
        ([0.999] * 5, CONFIRMED, (COUNTS,)),
    ],
)
def test_a_share_is_judged_on_its_odds_and_where_no_replicate_differs_as_a_count(
    shares: list[float], verdict: Verdict, conditions: tuple[str, ...]
) -> None:
    most = claim("share", bounds={"lower": 0.5, "strict": True}, bounds_how="stated")
    judged = judged_alone(most, series(shares))
    assert (judged.verdict, judged.conditions) == (verdict, conditions)
    assert judged.estimate is not None
    assert judged.low is not None
    assert judged.high is not None
    assert 0 < judged.low <= judged.estimate <= judged.high < 1


def test_a_series_across_kinds_of_evidence_is_mixed() -> None:
    both = Series("x", IoMode.DIRECT, frozenset({Evidence.EMULATED, Evidence.MEASURED}), dict(enumerate(around(0.06))))
    assert judged_alone(bounded(0.03, 0.10), both).evidence is Evidence.MIXED


@pytest.mark.parametrize(("greater", "than", "verdict"), [(0.10, 0.05, CONFIRMED), (0.05, 0.10, CONTRADICTED), (0.10, 0.10, UNDECIDED)])
def test_an_order_needs_the_ratio_above_one(greater: float, than: float, verdict: Verdict) -> None:
    order = claim("order", cases=[CASE, {**CASE, "name": "y"}], orders=[{"greater": "x", "than": "y"}])
    ratio = order_series(series(around(greater)), series(list(reversed(around(than))), case="y"))
    judged = judged_alone(order, ratio)
    assert (judged.case, judged.verdict) == ("x/y", verdict)


def test_an_order_may_have_bounds_of_its_own() -> None:
    sharp = claim(
        "order", cases=[CASE, {**CASE, "name": "y"}], orders=[{"greater": "x", "than": "y"}], bounds={"lower": 2}, bounds_how="assumed"
    )
    reported = [judged_alone(sharp, order_series(series(around(ratio)), series([1.0] * 5, case="y"))).verdict for ratio in (3, 1.5, 2)]
    assert reported == [CONFIRMED, CONTRADICTED, UNDECIDED]


def test_an_order_pairs_the_replicates_that_both_have_and_counts_the_flags_of_both() -> None:
    greater = Series("x", IoMode.DIRECT, frozenset({Evidence.EMULATED}), {0: 4.0, 1: 6.0}, frozenset({2}))
    than = Series("y", IoMode.DIRECT, frozenset({Evidence.MEASURED}), {1: 3.0, 2: 1.0}, frozenset({0}))
    ratio = order_series(greater, than)
    assert ratio.values == {1: 2.0}
    assert ratio.flagged == {0, 2}
    assert ratio.evidence_kinds == {Evidence.EMULATED, Evidence.MEASURED}


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [([1, 1, 1, 1, 1], CONFIRMED), ([0, 0, 0, 0, 0], CONTRADICTED), ([1, 1, 0, 1, 1], UNDECIDED), ([1, 1, 1, 1], UNDECIDED)],
)
def test_presence_is_seen_in_each_replicate_or_in_none(seen: list[float], verdict: Verdict) -> None:
    assert judged_alone(claim("presence"), series(seen)).verdict is verdict


@pytest.mark.parametrize("value", [0.02, 0.029, 0.03, 0.05, 0.1, 0.103, 0.5])
def test_of_one_case_the_p_value_says_what_the_interval_says(value: float) -> None:
    judged = judged_alone(bounded(0.03, 0.10), series(around(value)))
    assert judged.p_value is not None
    assert (judged.p_value < 0.05) == (judged.verdict is CONTRADICTED)
    assert judged.p_holm == judged.p_value


def test_holm_steps_down() -> None:
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_what_one_case_of_many_does_by_chance_contradicts_only_after_holm() -> None:
    bounds = bounded(0.03, 0.10)
    inside = [series(around(0.06), case=str(number)) for number in range(7)]
    far = series(around(0.105, 0.02), case="far")
    outside = judged_alone(bounds, far)
    assert outside.p_value is not None
    assert 0.05 / 8 < outside.p_value < 0.05, "outside alone, not among eight"
    assert combine([outside], expected=1)[0] is CONTRADICTED
    among = judge_series(bounds, [*inside, far])
    assert (among[-1].low, among[-1].high) == (outside.low, outside.high), "intervals are not adjusted"
    assert combine(among, expected=8) == (UNDECIDED, Cause.CHANCE, Reason("cases", {"cause": Cause.CHANCE, "cases": "far"}))
    certain = judge_series(bounds, [*inside, series(around(0.5), case="far")])
    assert combine(certain, expected=8)[0] is CONTRADICTED


def test_series_of_two_ways_of_io_are_not_corrected_together() -> None:
    both = [series(around(0.105, 0.02), io_mode=io_mode) for io_mode in (IoMode.DIRECT, IoMode.BUFFERED)]
    assert {judged_alone(bounded(0.03, 0.10), one).verdict for one in both} == {CONTRADICTED}
    with pytest.raises(AssertionError, match="each I/O mode is corrected by itself"):
        judge_series(bounded(0.03, 0.10), both)


def test_where_one_case_is_enough_to_confirm_that_one_must_after_holm() -> None:
    tests = [(0.04, CONFIRMED), (0.3, UNDECIDED), (None, UNDECIDED), (0.001, CONTRADICTED)]
    assert after_holm(tests, CONFIRMED) == [
        (pytest.approx(0.08), UNDECIDED),
        (pytest.approx(0.3), UNDECIDED),
        (None, UNDECIDED),
        (pytest.approx(0.003), CONTRADICTED),
    ]


@pytest.mark.parametrize("cases", [8])
@pytest.mark.parametrize("shared", [0.0, 1.0], ids=["independent", "one base"])
def test_true_ratios_are_contradicted_in_at_most_one_claim_of_twenty(cases: int, shared: float) -> None:
    """Each true ratio is the bound itself, the worst that is still true; with one base all of a replicate share its scatter."""
    draw, claims = random.Random(cases), 1000
    names = [str(number) for number in range(cases)]
    bounds = {"lower": 1.0, "strict": True}
    order = claim("order", cases=TWO, orders=ORDERS, bounds=bounds, bounds_how="stated")
    corrected_wrong = plain_wrong = 0
    for _ in range(claims):
        base = [draw.gauss(0.0, 0.1) * shared for _ in range(5)]
        drawn = [series([exp(common + draw.gauss(0.0, 0.1)) for common in base], case=name) for name in names]
        plain_wrong += combine([judged_alone(order, one) for one in drawn], expected=cases)[0] is CONTRADICTED
        corrected_wrong += combine(judge_series(order, drawn), expected=cases)[0] is CONTRADICTED
    assert corrected_wrong / claims <= 0.05
    assert plain_wrong / claims > 0.06, "without the correction more of them are"


@pytest.mark.parametrize(
    ("value", "verdict", "cause"),
    [
        (1.08, CONFIRMED, None),
        (1.06, UNDECIDED, Cause.SMALL),  # the interval reaches within a twentieth of 1
        (1.00, UNDECIDED, Cause.STRADDLES),
        (0.97, UNDECIDED, Cause.SMALL),
        (0.92, CONTRADICTED, None),
    ],
)
def test_a_difference_that_may_be_less_than_a_twentieth_is_no_order(value: float, verdict: Verdict, cause: Cause | None) -> None:
    order = claim("order", cases=TWO, orders=ORDERS)
    outcome = combine([judged_alone(order, series(around(value)))], 1, needed_bounds(order))
    assert outcome[:2] == (verdict, cause)


def case(
    verdict: Verdict, *, name: str = "x", io_mode: IoMode = IoMode.DIRECT, estimate: float = 0.06, width: float = 1.1, pairs: int = 5
) -> CaseVerdict:
    interval = {"low": estimate / width, "high": estimate * width} if pairs >= 5 else {"low": None, "high": None}
    table = {"case": name, "io_mode": io_mode, "evidence": "emulated", "estimate": estimate, "pairs": pairs, "flagged": 0}
    return CaseVerdict.model_validate({**table, **interval, "verdict": verdict})


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        ([CONFIRMED, CONFIRMED, CONFIRMED], CONFIRMED),
        ([CONFIRMED, UNDECIDED, CONFIRMED], UNDECIDED),
        ([CONFIRMED, UNDECIDED, CONTRADICTED], CONTRADICTED),
        ([CONTRADICTED, CONTRADICTED, CONTRADICTED], CONTRADICTED),
        ([UNDECIDED, UNDECIDED, UNDECIDED], UNDECIDED),
        ([CONFIRMED, CONFIRMED], UNDECIDED),  # one of three cases was not measured
        ([CONFIRMED, CONTRADICTED], CONTRADICTED),
    ],
)
def test_all_states_must_be_inside_and_one_outside_contradicts(verdicts: list[Verdict], verdict: Verdict) -> None:
    cases = [case(one, name=str(number)) for number, one in enumerate(verdicts)]
    assert combine(cases, expected=3)[0] is verdict


def rejected(flagged: int, repeats: int, obstacles: str = "") -> Reason:
    return Reason("rejected", {"case": "PR", "flagged": flagged, "repeats": repeats, "obstacles": obstacles})


def test_every_cause_has_words_and_a_cure() -> None:
    assert len({str(cause) for cause in Cause}) == len(Cause)
    assert all(cure(cause, None) for cause in Cause)


def test_an_undecided_claim_has_a_cause_and_a_reason() -> None:
    few = case(UNDECIDED, name="PR", pairs=4)
    for cases, expected, cause, reason in (
        ([few, case(CONFIRMED)], 2, Cause.FEW_REPLICATES, Reason("few", {"case": "PR", "clean": 4, "needed": 5})),
        ([few.model_copy(update={"flagged": 1}), case(CONFIRMED)], 2, Cause.REJECTED, rejected(1, 5)),
        ([few.model_copy(update={"flagged": 3, "pairs": 1, "obstacles": ("CPU",)})], 1, Cause.FEW_REPLICATES, rejected(3, 4, "CPU")),
        ([case(UNDECIDED, name="PR"), case(CONFIRMED)], 2, Cause.STRADDLES, Reason("cases", {"cause": Cause.STRADDLES, "cases": "PR"})),
        ([case(CONFIRMED)], 2, Cause.MISSING, Reason("cases_missing", {"measured": 1, "expected": 2})),
    ):
        assert combine(cases, expected) == (UNDECIDED, cause, reason)


def test_the_deciding_case_is_the_furthest_outside() -> None:
    cases = [
        case(CONTRADICTED, name="far", estimate=0.9),
        case(CONTRADICTED, name="near", estimate=0.2, width=3),
        case(CONFIRMED, name="in"),
    ]
    assert furthest_outside(cases, Bounds(lower=0.03, upper=0.10)).case == "far"
    below = [case(CONTRADICTED, name="below", estimate=0.001), case(CONTRADICTED, name="above", estimate=0.2)]
    assert furthest_outside(below, Bounds(lower=0.03, upper=0.10)).case == "below"
