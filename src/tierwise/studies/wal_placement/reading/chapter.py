"""Chapter on the log's place: when it pays on the SSD, what grouping commits gains, and what a commit a second costs."""

from functools import partial
from typing import Any, Final

from tierwise.core.errors import MissingError
from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import Bill, remarks
from tierwise.costs.book import Book
from tierwise.costs.hardware import device_bill
from tierwise.costs.units import SECONDS_A_YEAR
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, listed, number, percent, seconds
from tierwise.report.no_answer import answered, in_place
from tierwise.report.prices import book_of, devices_note, run_note
from tierwise.report.run import Run
from tierwise.studies.wal_placement.reading.figures import PLACES, QUERY, STUDY
from tierwise.studies.wal_placement.reading.ratios import of_delay, of_places, reading, told

PAIR: Final = "wal-placement"
COMPARED: Final = (("ssd", "hdd"), ("cached", "hdd"), ("ssd", "cached"))
"""(place of the log, place that it is held against)."""
GROUPED: Final = {"off": "0", "on": "half a flush"}
"""The words of a table for how long a commit waits for others (commit_delay)."""
MEDIANS: Final = """
    select wal, clients, group_commit, count(*) as windows, min(evidence) as evidence, median(commits_per_s) as commits_per_s,
           median(latency_s) as latency_s, median(flushes_per_commit) as flushes_per_commit, median(bytes_per_commit) as bytes_per_commit,
           median(cpu_share) as cpu_share
    from wal_placement_windows where pair = ? and not flagged
    group by all having enough(commits_per_s) order by group_commit, clients, wal
"""


def answer(run: Run, pair: str) -> Sentence:
    """Say when the log on the SSD pays, over disks and over disks with a cache; where too few windows are clean, why there is no answer."""
    return answered(run, STUDY, pair, partial(_answer, pair=pair))


def _answer(run: Run, pair: str) -> str:
    lines = []
    for over in ("hdd", "cached"):
        found = {case: one for case, one in of_places(run, pair, "ssd", over).items() if one.interval}
        plain = [f"{told(one)} with {clients_of(clients)}" for (clients, grouped), one in found.items() if grouped == "off"]
        if plain:
            lines.append(
                f"Compared with {PLACES[over]}, the log on the SSD multiplies commits by {listed(plain)} ({run.evidence(pair)}). "
                f"{reading(found.values())}"
            )
    if not lines:
        return ""
    return "\n\n".join([*lines, *filter(None, [_delay(run, pair)])])


def _delay(run: Run, pair: str) -> str:
    lines = []
    for place, words in PLACES.items():
        found = {case: one for case, one in of_delay(run, pair, place).items() if one.interval}
        if found:
            each = listed(f"{told(one)} with {clients_of(clients)}" for (clients, _), one in found.items())
            lines.append(f"with the log on {words} it multiplies commits by {each}. {reading(found.values())}")
    head = f"Waiting for others before a flush (`commit_delay`, {run.evidence(pair)}) helps or not by place: "
    return head + " ".join([lines[0], *(f"{line[0].upper()}{line[1:]}" for line in lines[1:])]) if lines else ""


def clients_of(clients: int) -> str:
    """Return the number of clients in words: ``8 clients``."""
    return f"{count(clients)} client{'s' if clients > 1 else ''}"


def ratios(run: Run, pair: str) -> Table | Sentence:
    """Return commits a second of one place of the log over another, with intervals, by clients and group commit."""
    found = [of_places(run, pair, *compared) for compared in COMPARED]
    cases = sorted({case for every in found for case in every}, key=lambda case: (case[1], case[0]))
    if not any(one.interval for every in found for one in every.values()):
        return in_place(run, STUDY, pair)
    pairs = sum(one.repeats for every in found for one in every.values())
    return Table(
        ["Clients", "commit_delay", *(f"{PLACES[place][0].upper()}{PLACES[place][1:]} over {PLACES[over]}" for place, over in COMPARED)],
        [[count(case[0]), GROUPED[case[1]], *(told(every.get(case)) for every in found)] for case in cases],
        "Commits a second with the log in one place over those with it in another, in the same replicate of the interleaving: geometric "
        "mean "
        f"and 95 % interval of the clean repeats; a dash where there are fewer than five. {run.note(pair, pairs, 'paired ratios', QUERY)}",
        align="rlrrr",
    )


def groups(run: Run, pair: str) -> Table | Sentence:
    """Tabulate rate, latency and how many commits share a flush, by place, clients and group commit."""
    rows = _medians(run, pair)
    if not rows:
        return in_place(run, STUDY, pair)
    gains = {place: of_delay(run, pair, place) for place in PLACES}
    return Table(
        [
            "Clients",
            "commit_delay",
            "Log on",
            "Commits/s",
            "Time of a transaction",
            "Commits a flush",
            "Processors busy",
            "Over commit_delay 0",
        ],
        [
            [
                count(row["clients"]),
                GROUPED[row["group_commit"]],
                PLACES[row["wal"]],
                number(row["commits_per_s"]),
                seconds(row["latency_s"]),
                number(1 / row["flushes_per_commit"]) if row["flushes_per_commit"] else DASH,
                percent(row["cpu_share"]),
                told(gains[row["wal"]].get((row["clients"], row["group_commit"]))),
            ]
            for row in rows
        ],
        "Medians of clean windows, at the tiers' own pace; flushes are those that reached the log's tier. In the last column, commits a "
        "second where they wait for others over those where they do not, in the same replicate. "
        f"{run.note(pair, sum(row['windows'] for row in rows), 'windows', QUERY)}",
        align="rllrrrrr",
    )


def costs(run: Run, pair: str) -> Table | Sentence:
    """Return what a commit a second costs, of the devices that the log lies on alone, where these are priced."""
    book, rows = book_of(run), [row for row in _medians(run, pair) if row["group_commit"] == "off"]
    priced = [(row, bill) for row in rows if (bill := log_bill(run, pair, row, book))]
    if not priced:
        return in_place(run, STUDY, pair, "Nothing is priced.")
    return Table(
        ["Clients", "Log on", "USD a year", "Commits/s", "USD a commit/s, year", "Written a day"],
        [
            [
                count(row["clients"]),
                PLACES[row["wal"]],
                number(bill.cost(book)),
                number(row["commits_per_s"]),
                number(bill.cost(book) / row["commits_per_s"]),
                f"{number(row['commits_per_s'] * row['bytes_per_commit'] * 86_400 / 1e9)} GB",
            ]
            for row, bill in priced
        ],
        "What the log's devices take in a year (drives, power, and their replacement where so many bytes wear them out) if so many commits "
        "come in every second of it, and that over the commits. Server and tables are not in it, nor a cache with a battery, whose price "
        f"was not read. {run_note(run, Evidence.of({Evidence(row['evidence']) for row, _ in priced}), len(priced), 'medians')} "
        f"{devices_note()} Computed in `studies/wal_placement/reading/chapter.py`.",
        align="rlrrrr",
    )


def prices(run: Run, pair: str) -> Sentence:
    book = book_of(run)
    bills = [bill for row in _medians(run, pair) if row["group_commit"] == "off" and (bill := log_bill(run, pair, row, book))]
    said = remarks(bills, book)
    return Sentence(" ".join(f"{remark}." for remark in said))


def log_bill(run: Run, pair: str, row: dict[str, Any], book: Book) -> Bill | None:
    """Return a year of the device that the log of `row` lies on, at its rate; None of a real disk, behind a cache, or without a price."""
    device = run.manifest.pairs.get(pair, {}).get("tiers", {}).get(row["wal"], {}).get("device")
    if device is None or row["wal"] == "cached":
        return None
    try:
        return device_bill(device, book, writes_bytes_a_year=row["commits_per_s"] * row["bytes_per_commit"] * SECONDS_A_YEAR)
    except MissingError:
        return None


def here(run: Run) -> Sentence:
    """Return the same on the pair of today and on the reader's own, or how to ask for it."""
    pairs = [pair for pair in dict.fromkeys((run.manifest.todays_pair, run.manifest.reader_pair)) if pair]
    told = [f"The pair `{pair}` ({run.evidence(pair) or 'nothing measured'}): {answer(run, pair).text}" for pair in pairs]
    if run.manifest.reader_pair is None:
        told.append("No pair of your own was named in this run. `make report TIERS=local` adds the disk that this checkout lies on.")
    return Sentence("\n\n".join(told))


def _medians(run: Run, pair: str) -> list[dict[str, Any]]:
    return run.query(MEDIANS, [pair]).rows(named=True)
