"""The verdicts on the claims of the Zipfian reads about money."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import duckdb

from tierwise.analysis.claims import Claim
from tierwise.analysis.judging import Grounds, Judge, Judgement
from tierwise.core.words import IoArm, Substrate
from tierwise.costs.band import Cases, judge_band
from tierwise.costs.book import load_book
from tierwise.costs.iops import simulated_iops, simulated_rate
from tierwise.costs.sensitivity import ratio_over_band, read_once
from tierwise.studies.ram_or_ssd.reading.money import DISK, FLASH, THEN, cases, ways

Connection = duckdb.DuckDBPyConnection


def judge(found: Callable[[Connection | None], Cases], claim: Claim, on: Grounds) -> Judgement:
    """Return what the ratios that `found` has say of `claim`; its reads go through the page cache."""
    connection, book = on.rows.connection if on.rows else None, load_book(THEN)
    bills = [bill for case in cases(connection) for bill in ways(case, book).bills.values()] if found is replaces_memory else []
    return judge_band(claim, on.pair, found(connection), arm=IoArm.BUFFERED, read_once=read_once(bills, book))


def replaces_memory(connection: Connection | None) -> Cases:
    """Return the cases of R10: flash is the cheapest, and without it memory is cheaper than disks, wherever the data do not fit the
    memory."""
    book, found = load_book(THEN), {}
    for case in cases(connection):
        if case.data_to_ram <= 1:
            continue
        three = ways(case, book)
        at = f"data {case.data_to_ram:g} x RAM"
        found[f"more RAM over an SSD, {at}"] = case.substrate, ratio_over_band(three.memory.bill, three.flash.bill, book)
        found[f"more disks over more RAM, {at}"] = case.substrate, ratio_over_band(three.disks.bill, three.memory.bill, book)
    return found


def sequential(_: Connection | None) -> Cases:
    """Return the cases of R11: by how much flash is ahead of the disk in random reads, over how much in sequential ones; prices cancel."""
    ratio = simulated_iops(FLASH) / simulated_iops(DISK) / (simulated_rate(FLASH) / simulated_rate(DISK))
    return {"lead in random over lead in sequential reads": (Substrate.SIMULATED, (ratio, ratio))}


MONEY: Final[Mapping[str, Judge]] = {"R10": partial(judge, replaces_memory), "R11": partial(judge, sequential)}
