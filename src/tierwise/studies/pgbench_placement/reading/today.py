"""The placements of pgbench's relations on the pair of today, as far as its windows were not run there: the flip map's models."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Final

import duckdb

from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import Case, Claim
from tierwise.analysis.heat import Record, record_of
from tierwise.analysis.rules import Series, order_series
from tierwise.analysis.statistics import MINIMUM_REPEATS, geometric_estimate
from tierwise.analysis.today import Shown
from tierwise.core.units import PAGE_BYTES
from tierwise.core.vocabulary import Evidence, IoMode
from tierwise.devices.model import build
from tierwise.devices.protocol import DeviceModel
from tierwise.devices.slowed_device import SlowedDevice
from tierwise.devices.spec import load_device
from tierwise.simulate.placements import Case as Point
from tierwise.simulate.placements import Warming, rates_by_type, recorded_case
from tierwise.simulate.transactions import Rows as Accounts

STUDY: Final = "pgbench_placement"
ROWS_PER_SCALE: Final = 100_000  # rows of pgbench_accounts for each unit of pgbench's scale
SMALLER: Final = MappingProxyType({"large": 1, "small": 10})
"""Set -> how many times smaller it is than the large one; the memory is the same."""
CLIENTS: Final = 8
HOST_S: Final = 0.0005  # a transaction's time outside the storage, as in the flip map (assumed)
WARMING: Final = Warming(lookups_per_page=3, transactions=1700)
"""What comes before, as in the flip map: the transactions of half a second without delays (assumed)."""
TRANSACTIONS: Final = 200
SLOWDOWN: Final = "select max(slowdown) from pgbench_placement where pair = ?"
"""The factor on the times of the tiers that the windows on a pair had."""

Rates = Mapping[str, Sequence[float]]  # placement -> transactions a second, by seed


def cases(claim: Claim, rows: Rows, pair: str) -> list[Shown]:
    """Return every ratio that the order of `claim` needs, simulated on the devices of `pair`; none where the run has no sizes there."""
    record, slowdown = record_of(rows.connection, STUDY, pair), _slowdown(rows.connection, pair)
    if record is None or slowdown is None or not {"hdd", "ssd", "wal"} <= _devices(record).keys():
        return []
    rates = {
        size: _rates(tuple(sorted(_devices(record).items())), _accounts(record, times), _memory_bytes(record), record.stretch, slowdown)
        for size, times in SMALLER.items()
    }
    known = {case.name: _series(case, rates[case.select["size"]]) for case in claim.cases}
    ratios = [order_series(known[order.greater], known[order.than]) for order in claim.orders]
    return [Shown(one.case, geometric_estimate(list(one.values.values())), Evidence.SIMULATED) for one in ratios]


def _slowdown(connection: duckdb.DuckDBPyConnection, pair: str) -> float | None:
    ((found,),) = connection.execute(SLOWDOWN, [pair]).fetchall()
    return None if found is None else float(found)


def _devices(record: Record) -> dict[str, str]:
    return {name: str(tier["device"]) for name, tier in (record.pair.get("tiers") or {}).items() if "device" in tier}


def _memory_bytes(record: Record) -> float:
    accounts_bytes = sum(size for name, size in record.facts["size_bytes"]["large"].items() if name.startswith("pgbench_accounts"))
    return float(record.facts["memory_share"] * accounts_bytes)


def _accounts(record: Record, times: int) -> Accounts:
    index_bytes = record.facts["size_bytes"]["large"]["pgbench_accounts_pkey"]
    return Accounts(round(record.facts["scales"]["large"] * ROWS_PER_SCALE) // times, index_bytes // PAGE_BYTES // times)


@cache
def _rates(devices: tuple[tuple[str, str], ...], accounts: Accounts, memory_bytes: float, stretch: float, slowdown: float) -> Rates:
    """Transactions a second of each placement by type: updates of rows that are drawn uniformly, as TPC-B-like ones are."""
    point = Point(accounts.index_pages * PAGE_BYTES / memory_bytes, skew=0.0, writes=1.0)
    found: dict[str, list[float]] = {}
    for seed in range(1, MINIMUM_REPEATS + 1):
        load = recorded_case(accounts, point, clients=CLIENTS, host_s=HOST_S, transactions=TRANSACTIONS, warming=WARMING, seed=seed)
        for name, tps in rates_by_type(load, _maker(devices, stretch, slowdown), seed).items():
            found.setdefault(name, []).append(tps)
    return found


def _maker(devices: tuple[tuple[str, str], ...], stretch: float, slowdown: float) -> Callable[[int], dict[str, DeviceModel]]:
    def new(seed: int) -> dict[str, DeviceModel]:
        models = {tier: SlowedDevice(build(load_device(device), seed=seed, stretch=stretch)) for tier, device in devices}
        for model in models.values():
            model.slow(0.0, slowdown)
        return dict(models)

    return new


def _series(case: Case, rates: Rates) -> Series:
    chosen, base = rates[case.select["placement"]], rates["all_hdd"]
    values = chosen if case.value == "tps" else [tps / least for tps, least in zip(chosen, base, strict=True)]
    return Series(case.name, IoMode.DIRECT, frozenset({Evidence.SIMULATED}), dict(enumerate(values)))


TODAY: Final = MappingProxyType({"V3": cases, "V4": cases, "V7": cases})
