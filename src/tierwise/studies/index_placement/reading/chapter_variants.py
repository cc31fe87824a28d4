"""The end of the chapter on the census study: each variant's verdicts, when its sentence is true, and what to do today."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import geometric_mean
from typing import Final

import polars as pl

from tierwise.analysis.judging import ClaimVerdict, named
from tierwise.analysis.statistics import MINIMUM_REPEATS, geometric_estimate
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, NBSP, count, listed, number, percent, percents
from tierwise.report.no_answer import answered
from tierwise.report.run import Run
from tierwise.report.variants import PUBLISHED, Truth, differs, label, saves, variants
from tierwise.report.words import IO_MODES, VARIANTS, bounds, case_name, marked
from tierwise.studies.index_placement.reading.figures import QUERY, main_io_mode
from tierwise.studies.index_placement.reading.figures_reads import shown_state

STUDY: Final = "index_placement"
TABLED: Final = ("M1", "M2", "M3", "M4", "M5")
COLD: Final = "M1"
CROSS: Final = "M3"
MOVED: Final = ("hdd/hdd", "hdd/ssd")
"""The two placements of the census study (table/index)."""
MOVES: Final = {"hdd_ssd_s": "the index", "ssd_hdd_s": "the table", "ssd_ssd_s": "both"}
"""Column of the view -> what lies on ssd."""
NOWHERE: Final = "No other variant that this run measured makes it true."
NOT_SHOWN: Final = "No other variant of this run is shown to make it true."
"""Where some variant's interval is missing, or holds the bound."""
GROWN: Final = "grown"
REMEDIES: Final = {
    "index-only": "VACUUM the table, so that the count reads the index alone",
    "bitmap": "Leave the planner its bitmap scan, which reads the table's pages in their order",
    "heap-cached": "Give the table memory",
    "deduplicated": "Let the index keep each value once, as it does by default",
    GROWN: "Build an index anew that grew by inserts",
}
"""Variant -> what a reader can do today (or undo, where it grew)."""
WORTH: Final = 0.9
"""A remedy that leaves more of the time than this is named as one that brings little."""


def claim_of(run: Run, name: str) -> ClaimVerdict:
    """Return the verdict on the claim `name`."""
    return next(claim for claim in run.verdicts if claim.id == name)


def variant_list(run: Run, pair: str) -> Table | Sentence:
    shown = variants(claim_of(run, COLD))
    told = {VARIANTS[variant][0]: VARIANTS[variant][1] for variant in VARIANTS if variant in {one.variant for one in shown}}
    if not told:
        return _nothing(pair)
    caption = f"The variants of this run, and what each differs in. {run.note(pair, len(told), 'variants', QUERY)}"
    return Table(["Variant", "What differs"], list(told.items()), caption)


def verdicts_by_variant(run: Run, pair: str) -> Table | Sentence:
    """Tabulate the census study's own pair: one row an I/O mode, with every claim's verdict and the pages behind the cold ratio."""
    return _verdict_table(run, pair, {name: claim_of(run, name) for name in TABLED})


def verdicts_here(run: Run) -> Table | Sentence:
    """Tabulate the same on the reader's pair; nothing without one."""
    judged = {name: here for name in TABLED if (here := claim_of(run, name).here)}
    return _verdict_table(run, run.manifest.reader_pair, judged) if run.manifest.reader_pair else Sentence("")


def _nothing(pair: str) -> Sentence:
    return Sentence(f"No row of this run is about the pair `{pair}`.")


def _verdict_table(run: Run, pair: str, judged: Mapping[str, ClaimVerdict]) -> Table | Sentence:
    shown = variants(judged[COLD])
    if not shown:
        return _nothing(pair)
    state = shown_state(run, pair)
    rows = [[label(one), *(_cell(claim, one) for claim in judged.values()), *_pages(one, state)] for one in shown]
    return Table(
        ["Variant", *TABLED, "Reads, index on HDD", "Reads, index on SSD"],
        rows,
        "What each variant says of the statements; the number is the ratio of the case on which the verdict hangs. Reads: pages of the "
        f"table + of the index that a cold count for {case_name(state)} asks of the storage. "
        f"{run.note(pair, len(rows), 'variants', QUERY)}",
        align="llllllrr",
    )


def _cell(claim: ClaimVerdict, one: ClaimVerdict) -> str:
    same = next((other for other in variants(claim) if named(other) == named(one)), None)
    if same is None:
        return DASH
    estimate = number(same.estimate, 2) if same.estimate is not None else DASH
    return f"{marked(same.verdict)} {estimate}"


def _pages(one: ClaimVerdict, state: str) -> list[str]:
    """Pages of the table + pages of the index on both placements."""
    if one.through is None:
        return [DASH, DASH]
    both = ([of.get(state, {}).get(placement) for of in (one.through.heap_reads, one.through.index_reads)] for placement in MOVED)
    return [DASH if None in found else f"{NBSP}+{NBSP}".join(count(round(value or 0)) for value in found) for found in both]


def conditions(run: Run, pair: str) -> Sentence:
    """Say when the sentence of the census study is true: in variants whose interval lies at or below its bound in every measured state."""
    claim = claim_of(run, COLD)
    limit = claim.bounds[1] if claim.bounds else None
    everything = variants(claim)
    if not everything or limit is None:
        return Sentence(f"**No answer:** no row of this run is about the pair `{pair}`.")
    io = main_io_mode(run, pair)
    truth = {named(one): saves(one, limit) for one in everything}
    shown = [one for one in everything if one.io_mode == io]
    published = next((one for one in shown if one.variant == PUBLISHED), None)
    true, false, unknown = ([one for one in shown if truth[named(one)] is word and one is not published] for word in Truth)
    usual = _states(published) if published else ""
    told = [
        f"*An index on SSD saves {100 * (1 - limit):g}{NBSP}% of a cold count's time*: that is, it leaves at most {100 * limit:g}{NBSP}%.",
        f"**As published, with everything cold, {truth[named(published)]}:** it {leaves(published)}. {_reads(published)}"
        if published
        else "",
        "\n".join(["**Where it is true:**", "", *(_condition(one, shown, usual, claim) for one in true)])
        if true
        else NOT_SHOWN
        if unknown
        else NOWHERE,
        _among("Where it is not", false, usual),
        _among("Where this run cannot tell", unknown, usual),
        _other_io(everything, truth, io),
        _after_another_state([one for one in variants(claim_of(run, CROSS)) if one.io_mode == io], claim_of(run, CROSS)),
    ]
    return Sentence("\n\n".join(filter(None, told)))


def leaves(one: ClaimVerdict, usual: str = "") -> str:
    """Return what the index on SSD leaves of the time; the states that were measured, where they are not the `usual` ones."""
    shares = [case.estimate for case in one.cases if case.estimate is not None]
    if not shares:
        return f"has not {MINIMUM_REPEATS} clean repeats"
    return f"leaves {percents(shares)}" + (f" ({_states(one)})" if _states(one) != usual else "")


def _states(one: ClaimVerdict) -> str:
    return listed(case_name(case.case) for case in one.cases if case.estimate is not None)


def _condition(one: ClaimVerdict, shown: Sequence[ClaimVerdict], usual: str, claim: ClaimVerdict) -> str:
    exactly = f"{claim.id}, which says {bounds(claim)} of the time, reads {one.verdict}."
    line = f"- *{label(one)}* ({differs(one)}): it {leaves(one, usual)}; {exactly} {_reads(one)}"
    same = next((one for one in shown if one.variant == "heap-cached"), None)
    if one.variant != "asymmetric" or same is None:
        return line
    return f"{line} The cached table saves this, not the index on SSD: with the table cached both times, that {leaves(same, usual)}."


def _among(head: str, shown: Sequence[ClaimVerdict], usual: str) -> str:
    return f"**{head}:** {'; '.join(f'*{label(one)}* {leaves(one, usual)}' for one in shown)}." if shown else ""


def _other_io(everything: Sequence[ClaimVerdict], truth: Mapping[str, Truth], io: str) -> str:
    """Whether the other ways of I/O say the same, of the variants that both have."""
    main = {one.variant: truth[named(one)] for one in everything if one.io_mode == io}
    lines = []
    for way in IO_MODES:
        others = [one for one in everything if one.io_mode == way != io and one.variant in main]
        different = [one for one in others if truth[named(one)] != main[one.variant]]
        told = "; ".join(f"{label(one)}: {truth[named(one)]}, it {leaves(one)}" for one in different)
        if others:
            lines.append(f"**With {IO_MODES[way]}** {f'it differs in: {told}' if told else 'it is the same in each of these variants'}.")
    return "\n\n".join(lines)


def _reads(one: ClaimVerdict) -> str:
    """Pages of the first state on each placement; where both read alike, the most that moving the index could save."""
    heap, index = (one.through.heap_reads, one.through.index_reads) if one.through else ({}, {})
    state = next((state for state, of in heap.items() if of.keys() >= set(MOVED)), None)
    if state is None:
        return ""
    on_hdd, on_ssd = (f"{_whole(heap[state][at])} pages of the table and {_whole(index[state][at])} of the index" for at in MOVED)
    if on_hdd != on_ssd:
        return f"With the index on HDD a count for {case_name(state)} reads {on_hdd}, with the index on SSD {on_ssd}."
    return f"A count for {case_name(state)} reads {on_hdd}, and only the latter move.{_share(one, state)}"


def _share(one: ClaimVerdict, state: str) -> str:
    times = (one.through.heap_io_s, one.through.index_io_s, one.through.other_io_s) if one.through else ()
    taken = [of[state][MOVED[0]] for of in times if of is not None]
    return f" These take {percent(taken[1] / sum(taken))} of the storage's time on HDD." if sum(taken) else ""


def _after_another_state(shown: Sequence[ClaimVerdict], claim: ClaimVerdict) -> str:
    word = {label(one): one.verdict for one in shown}
    told = (f"{one} in {listed(f'*{label}*' for label, said in word.items() if said == one)}" for one in dict.fromkeys(word.values()))
    return f"**After another state** (published: {bounds(claim)}; {claim.id}): {'; '.join(told)}." if word else ""


def advice(run: Run, pair: str) -> Sentence:
    """Return what to do with today's server: what to move first, and what each other remedy brings, the best first."""
    return answered(run, STUDY, pair, partial(_advice, pair=pair))


def _advice(run: Run, pair: str) -> str:
    moves = _moves(run, pair)
    if len(moves) < len(MOVES):
        return ""
    first = min(("the index", "the table"), key=lambda name: _middle(moves.get(name, [])))
    told = listed(f"{name} on SSD leaves {percents(shares)}" for name, shares in moves.items())
    lines, little = [f"- **Move {first} first.** From a cold cache, with all else on HDD, {told} of the time."], []
    for variant, times, ratios in sorted(_remedies(run, pair), key=lambda found: _middle(found[1])):
        then = "" if variant == GROWN else f", and of that an index on SSD leaves {percents(ratios)}"
        if max(times) < WORTH:
            lines.append(f"- **{REMEDIES[variant]}:** with all on HDD, that leaves {percents(times)} of the time{then}.")
        else:
            little.append(f"{REMEDIES[variant][0].lower()}{REMEDIES[variant][1:]} ({percents(times)})")
    if little:
        lines.append(f"- With all on HDD these bring little; in brackets the share of the time that they leave: {'; '.join(little)}.")
    return "\n".join(lines)


def _moves(run: Run, pair: str) -> dict[str, list[float]]:
    shares = ", ".join(f"{column} / hdd_hdd_s as {column}" for column in MOVES)
    rows = run.query(
        f"select state, {shares} from index_placement "
        "where variant = 'published' and cache = 'cold' and pair = ? and io_mode = ? and not flagged order by state",
        [pair, main_io_mode(run, pair)],
    )
    found = {name: _by_state(rows.select("state", value=column)) for column, name in MOVES.items()}
    return {name: estimates for name, estimates in found.items() if estimates}


def _remedies(run: Run, pair: str) -> Iterator[tuple[str, list[float], list[float]]]:
    """Variant, its cold time over the published one with all on hdd (the inverse where the remedy undoes it), and its ratio, by state."""
    rows = run.query(
        """
        select ours.variant, ours.state, ours.ratio,
               if(ours.variant = 'grown', published.hdd_hdd_s / ours.hdd_hdd_s, ours.hdd_hdd_s / published.hdd_hdd_s) as time
        from index_placement as ours join index_placement as published using (run_id, pair, io_mode, cache, state, replicate)
        where published.variant = 'published' and cache = 'cold' and pair = ? and io_mode = ? and not (ours.flagged or published.flagged)
        order by ours.state
        """,
        [pair, main_io_mode(run, pair)],
    )
    for variant in REMEDIES:
        own = rows.filter(variant=variant)
        times, ratios = (_by_state(own.select("state", value=column)) for column in ("time", "ratio"))
        if times and ratios:
            yield variant, times, ratios


def _by_state(rows: pl.DataFrame) -> list[float]:
    groups = rows.drop_nulls().group_by("state", maintain_order=True)
    return [value for _, group in groups if (value := geometric_estimate(group["value"].to_list()).value) is not None]


def _middle(shares: Sequence[float]) -> float:
    return geometric_mean(shares) if shares else float("inf")


def _whole(value: float) -> str:
    return count(round(value))
