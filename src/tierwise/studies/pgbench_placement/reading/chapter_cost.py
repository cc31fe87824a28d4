"""Chapter on the pgbench study: what a transaction and a request cost with each placement."""

from tierwise.core.vocabulary import Evidence
from tierwise.costs.bill import remarks
from tierwise.costs.book import load_book
from tierwise.costs.sensitivity import ratio_over_band
from tierwise.report.display import Sentence, Table
from tierwise.report.formats import DASH, count, interval, number
from tierwise.report.no_answer import in_place
from tierwise.report.prices import devices_note, run_note
from tierwise.report.run import Run
from tierwise.studies.pgbench_placement.reading.figures import PLACEMENTS
from tierwise.studies.pgbench_placement.reading.money import THEN, bill, per_iops, per_million_transactions, served


def placements(run: Run, pair: str) -> Table | Sentence:
    """Tabulate each placement of the large set: money a year, a million transactions, a request a second; and over everything on hdd."""
    book, found = load_book(THEN), served(run.connection, pair)
    if not found:
        return in_place(run, "pgbench_placement", pair, "Nothing is priced.")
    base = next((one for one in found if one.placement == "all_hdd"), None)
    rows = [
        [
            PLACEMENTS[one.placement],
            number(bill(one.placement, book).cost(book)),
            count(round(one.tps)),
            f"{per_million_transactions(one, book).cost(book):.4f}",
            DASH
            if base is None or one is base
            else interval(*ratio_over_band(per_million_transactions(one, book), per_million_transactions(base, book), book)),
            count(round(one.requests_per_s)),
            number(per_iops(one, book).cost(book)),
        ]
        for one in found
    ]
    return Table(
        ["Placement", "USD a year", "Transactions/s", "USD a million", "Over all on HDD", "Requests/s", "USD a request/s, year"],
        rows,
        f"What the pgbench study's machine costs at the prices of {THEN:%B %Y} (server, 16 GiB of RAM, drives, power, wear), and what that "
        "makes of "
        "a million transactions of the large set and of each request a second that the tiers served; rates at the tiers' own speed, "
        "geometric means. Beside it the cost of a transaction over that with everything on HDD, over the price band. "
        f"{run_note(run, Evidence.of({one.evidence for one in found}), sum(one.windows for one in found), 'windows')} {devices_note()} "
        "Computed in `studies/pgbench_placement/reading/money.py`.",
        align="lrrrrrr",
    )


def prices(run: Run, pair: str) -> Sentence:
    book = load_book(THEN)
    told = remarks((bill(one.placement, book) for one in served(run.connection, pair)), book)
    return Sentence(" ".join(f"{remark}." for remark in told))
