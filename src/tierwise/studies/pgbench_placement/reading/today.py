"""The placements of pgbench's relations on the pair of today, as far as its windows were not run there: the flip map's models."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import Case, Claim
from tierwise.analysis.heat import record_of
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
    record = record_of(rows.connection, STUDY, pair)
    ((slowdown,),) = rows.connection.execute(SLOWDOWN, [pair]).fetchall()
    tiers: Mapping[str, Any] = (record.pair.get("tiers") or {}) if record else {}
    devices = tuple(sorted((name, str(tier["device"])) for name, tier in tiers.items() if "device" in tier))
    if record is None or slowdown is None or not {"hdd", "ssd", "wal"} <= dict(devices).keys():
        return []
    sizes_bytes = record.facts["size_bytes"]["large"]
    memory_bytes = record.facts["memory_share"] * sum(size for name, size in sizes_bytes.items() if name.startswith("pgbench_accounts"))
    count, index_pages = round(record.facts["scales"]["large"] * ROWS_PER_SCALE), sizes_bytes["pgbench_accounts_pkey"] // PAGE_BYTES
    rates = {
        size: _rates(devices, Accounts(count // times, index_pages // times), memory_bytes, record.stretch, slowdown)
        for size, times in SMALLER.items()
    }
    known = {case.name: _series(case, rates[case.select["size"]]) for case in claim.cases}
    ratios = [order_series(known[order.greater], known[order.than]) for order in claim.orders]
    return [Shown(one.case, geometric_estimate(one.values), Evidence.SIMULATED) for one in ratios]


@cache
def _rates(devices: tuple[tuple[str, str], ...], accounts: Accounts, memory_bytes: float, stretch: float, slowdown: float) -> Rates:
    """Transactions a second of each placement by type: updates of rows that are drawn uniformly, as TPC-B-like ones are."""

    def new(seed: int) -> dict[str, DeviceModel]:
        models = {tier: SlowedDevice(build(load_device(device), seed=seed, stretch=stretch)) for tier, device in devices}
        for model in models.values():
            model.slow(0.0, slowdown)
        return dict(models)

    point = Point(accounts.index_pages * PAGE_BYTES / memory_bytes, skew=0.0, writes=1.0)
    found: dict[str, list[float]] = {}
    for seed in range(1, MINIMUM_REPEATS + 1):
        load = recorded_case(accounts, point, clients=CLIENTS, host_s=HOST_S, transactions=TRANSACTIONS, warming=WARMING, seed=seed)
        for name, tps in rates_by_type(load, new, seed).items():
            found.setdefault(name, []).append(tps)
    return found


def _series(case: Case, rates: Rates) -> Series:
    chosen, base = rates[case.select["placement"]], rates["all_hdd"]
    values = chosen if case.value == "tps" else [tps / least for tps, least in zip(chosen, base, strict=True)]
    return Series(case.name, IoMode.DIRECT, frozenset({Evidence.SIMULATED}), dict(enumerate(values)))


TODAY: Final = MappingProxyType({"V3": cases, "V4": cases, "V7": cases})
