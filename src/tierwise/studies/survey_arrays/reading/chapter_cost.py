"""What a terabyte, an IOPS and a query an hour cost on each subsystem and placement of the survey, then and now (H13)."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from statistics import fmean
from typing import Final

from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import remarks
from tierwise.costs.book import Book, load_book
from tierwise.costs.hardware import TB, members
from tierwise.costs.iops import RATED
from tierwise.costs.sensitivity import crossing, ratio_over_band
from tierwise.report.display import Sentence, Table
from tierwise.report.figures.places import medians
from tierwise.report.formats import DASH, NBSP, count, interval, listed, number
from tierwise.report.no_answer import in_place
from tierwise.report.prices import book_of, devices_note, run_note
from tierwise.report.run import Run
from tierwise.report.shown import Shown
from tierwise.report.words import claim_sentence, estimated, marked
from tierwise.studies.survey_arrays.reading.figures import hunted
from tierwise.studies.survey_arrays.reading.money import (
    BAYS_A_SERVER,
    DISKS,
    FLASHES,
    JUDGED,
    MEMBERS,
    PLACEMENTS,
    RAM_GIB_A_SERVER,
    SIZES_TB,
    SUBSYSTEMS,
    THEN,
    drives,
    holding,
    housed,
    over_memory,
    priced,
)
from tierwise.studies.survey_arrays.reading.shown import ARRAYS, SURVEY

CLAIM: Final = "H13"
SSD_PRICE: Final = "ssd-source-h"
DEVICES: Final[Mapping[str, tuple[str, ...]]] = {**SUBSYSTEMS, **PLACEMENTS}
"""What is bought, by place: a subsystem, or a placement of files on two."""
DRIVES: Final = "Drives, power and wear are counted; controller, server and memory are not"
TODAY: Final = "each terabyte at the price of today's drives for servers (which are larger: none so small is asked for)"


def money(run: Run) -> Table:
    """Return what a year of each subsystem takes, of a usable terabyte and of an IOPS of it, at the source's prices and today's."""
    bought = {ARRAYS.places[tier]: devices for tier, devices in SUBSYSTEMS.items()} | {"disks and SSDs, both RAID5": (DISKS, FLASHES)}
    days = _days(run)
    rows = []
    for name, devices in bought.items():
        found = [(priced(devices, book, now=now), book) for book, now in days]
        one = found[0][0]
        costs = [[number(bill.cost(book)) for bill in (each.bill, each.per_tb, each.per_iops)] for each, book in found]
        rows.append(
            [
                name,
                listed(f"{count(number_of)} `{member}`" for member, number_of in map(members, devices)),
                number(one.usable_bytes / TB),
                count(round(one.iops)),
                *(cell for then_and_now in zip(*costs, strict=True) for cell in then_and_now),
            ]
        )
    then, now = (f"{book.on:%Y-%m}" for book, _ in days)
    return Table(
        ["Subsystem", "Drives", "TB", "IOPS", *(f"{what}, {on}" for what in ("A year", "A TB", "An IOPS") for on in (then, now))],
        rows,
        f"USD a year of each subsystem, of each usable terabyte and of an I/O a second that it serves ({RATED}, simulated). Prices "
        f"of about {THEN.year}: the source's; of {now}: {TODAY}. {DRIVES}. The last row is what a part of the files on SSDs needs. "
        f"{run_note(run, Evidence.SIMULATED, len(rows), 'subsystems')} {devices_note()} "
        "Computed in `studies/survey_arrays/reading/money.py`.",
        align="llrrrrrrrr",
    )


def held(run: Run) -> Table:
    """Return what H13 is judged on: the fewest drives that hold so much."""
    rows = []
    for size_tb in SIZES_TB:
        for book, now in _days(run):
            disk, flash = (holding(member, size_tb * TB, book, now=now) for member in MEMBERS)
            disks, flashes = (count(drives(member, size_tb * TB)) for member in MEMBERS)
            cells = [disks, number(disk.cost(book)), flashes, number(flash.cost(book)), interval(*ratio_over_band(flash, disk, book))]
            rows.append([f"{size_tb}{NBSP}TB", f"{book.on:%Y-%m}", *cells])
    return Table(
        ["Database", "Prices of", "Disks", "USD a year", "SSDs", "USD a year", "SSDs over disks"],
        rows,
        f"The fewest drives in RAID5 that hold a database, in arrays as the source has them, what they cost a year, and the ratio over the "
        f"price band (half to twice of what was read only once). {DRIVES}. "
        f"{run_note(run, Evidence.PUBLISHED, len(rows), 'comparisons')} {devices_note()} "
        "Computed in `studies/survey_arrays/reading/money.py`.",
        align="llrrrrr",
    )


def over_servers(run: Run) -> Table:
    book = load_book(THEN)
    rows = []
    for size_tb in SIZES_TB:
        for bays in BAYS_A_SERVER:
            flash, disk = housed(size_tb, bays, book)
            least, most = (
                flash.bill(ram_gib).cost(book) / disk.bill(ram_gib).cost(book) for ram_gib in (RAM_GIB_A_SERVER[-1], RAM_GIB_A_SERVER[0])
            )
            equal = crossing(disk.bill(RAM_GIB_A_SERVER[0]), flash.bill(RAM_GIB_A_SERVER[0]), SSD_PRICE, book)
            price = number(equal * book.quote(SSD_PRICE).each * TB) if 0 < equal < inf else DASH
            machines = f"{count(flash.machines)} for SSDs, {count(disk.machines)} for disks"
            band = interval(*over_memory(flash, disk, book))
            rows.append([f"{size_tb}{NBSP}TB", str(bays), machines, interval(*sorted((least, most))), band, price])
    return Table(
        ["Database", "Bays a server", "Machines", "At the prices read", "Over the band", "As dear where a TB of SSD costs"],
        rows,
        f"H13 with the servers that hold the drives, all at one price (assumed: larger ones are dearer): SSDs over disks a year, with "
        f"{RAM_GIB_A_SERVER[0]} to {RAM_GIB_A_SERVER[-1]} GiB of memory a server. The last column: USD, with "
        f"{RAM_GIB_A_SERVER[0]} GiB a server, all else being equal; a TB of SSD was read at {number(book.quote(SSD_PRICE).each * TB)}; "
        f"a dash: at no price. {run_note(run, Evidence.PUBLISHED, len(rows), 'comparisons')} "
        "Computed in `studies/survey_arrays/reading/money.py`. Input: `data/prices/`, `data/costs/`.",
        align="lrlrrr",
    )


def queries(run: Run, pair: str, shown: Shown = ARRAYS, compared: tuple[str, str] = JUDGED) -> Table | Sentence:
    """Return what it costs to run each query once an hour, by place, at both times' prices, by each kind of seconds that there is.

    The last column has the second place of `compared` over the first.
    """
    rows, seen = [], 0
    for query, words in shown.queries.items():
        for position, (how, seconds) in enumerate(_seconds(run, pair, shown, query)):
            seen += len(seconds)
            for day, (book, now) in enumerate(_days(run)):
                rows.append(
                    [
                        words if position == day == 0 else "",
                        how if day == 0 else "",
                        f"{book.on:%Y-%m}",
                        *_by_place(shown, compared, seconds, book, now=now),
                    ]
                )
    if not rows:
        return in_place(run, shown.study, pair, "No query is priced.")
    slow, fast = (shown.places[place] for place in compared)
    return Table(
        ["Query", "Seconds", "Prices of", *shown.places.values(), f"{fast} over {slow}"],
        rows,
        "USD a year for the means to run a query once an hour: a year of the place times the query's hours. Seconds: "
        f"**{Evidence.EMULATED}** on scaled data (medians){_other_seconds(shown)}; **{Evidence.PUBLISHED}** from the source's bars, as "
        f"they are inferred (`{SURVEY}`). Places may be compared within a row, rows may not. The last column is over the price band; "
        f"{DRIVES[0].lower()}{DRIVES[1:]}. "
        f"{run.stamp}, pair `{pair}`, n = {count(seen)} times. {devices_note()} Query: `{shown.query}`.",
        align="lll" + "r" * (len(shown.places) + 1),
    )


def _other_seconds(shown: Shown) -> str:
    return f"; **{Evidence.SIMULATED}** at the published size, the devices alone" if shown == ARRAYS else ""


def _seconds(run: Run, pair: str, shown: Shown, query: str) -> Iterator[tuple[str, dict[str, float]]]:
    """(evidence, place -> seconds) of `query`, of each kind that has any."""
    middle = medians(run, pair, shown, "elapsed_s")
    kinds = {str(run.evidence(pair)): {place: middle[query, place] for place in shown.places if (query, place) in middle}}
    if shown == ARRAYS:
        ways = hunted(run, pair, query)
        kinds[f"{Evidence.SIMULATED}, published size"] = {tier: fmean(of) for tier, of in ways[0]["seconds"].items()} if ways else {}
    bars = shown.published_seconds()
    if any(kinds.values()):
        kinds[str(Evidence.PUBLISHED)] = {place: bars[query, place] for place in shown.places if (query, place) in bars}
    yield from ((how, seconds) for how, seconds in kinds.items() if seconds)


def _by_place(shown: Shown, compared: tuple[str, str], seconds: Mapping[str, float], book: Book, *, now: bool) -> list[str]:
    costs = {place: priced(DEVICES[place], book, now=now).per_query_an_hour(time_s) for place, time_s in seconds.items()}
    slow, fast = compared
    ratio = interval(*ratio_over_band(costs[fast], costs[slow], book)) if {slow, fast} <= costs.keys() else DASH
    return [*(number(costs[place].cost(book)) if place in costs else DASH for place in shown.places), ratio]


def verdict(run: Run) -> Sentence:
    """Say what H13 comes to by the terabyte, which is the source's measure, and by the others."""
    claim = next((claim for claim in run.verdicts if claim.id == CLAIM), None)
    if claim is None:
        return Sentence("")
    others = "; ".join(f"{one.variant}: {estimated(one)}, {marked(one)}" for one in claim.others)
    beside = f"\n\nBy other measures and at today's prices, the case that decides gives SSDs over disks as follows: {others}."
    return Sentence(claim_sentence(claim) + (beside if others else ""))


def prices(run: Run) -> Sentence:
    told = []
    for book, now in _days(run):
        bills = [priced(devices, book, now=now).bill for devices in SUBSYSTEMS.values()]
        told += [f"{book.on:%Y-%m}: {remark}" for remark in remarks(bills, book)]
    return Sentence("\n".join(f"- {remark}." for remark in told))


def _days(run: Run) -> Sequence[tuple[Book, bool]]:
    """(book, whether terabytes are at today's prices)."""
    return (load_book(THEN), False), (book_of(run), True)


QUERY_COSTS: Final = {"source-h": queries}
"""What a query costs on the machines of a pair, for the chapter of another study that is measured there."""
