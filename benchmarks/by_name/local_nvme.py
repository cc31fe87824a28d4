"""The fit of data/devices/local-nvme.toml, made anew: the two latencies with which the predictor returns the two given figures.

Run by name: ``python benchmarks/by_name/local_nvme.py`` (a minute). 39.3 us a page, an index scan of rows anywhere in a large table, fixes
`read_latency`; 1.56 us a page, a sequential scan at PostgreSQL 18's defaults, fixes `ordered_read_latency`. Bound: the file has what comes
out, to 2 %.
"""

import sys
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.optimize import brentq

from tierwise.devices.model import build
from tierwise.devices.parameter import Time
from tierwise.devices.spec import SsdSpec, load_device
from tierwise.scans.methods import ColdScan, Server
from tierwise.scans.processor import IoMethod, ScanMethod, load_processor
from tierwise.scans.rows import Table, pages_in_order

GIVEN_US: Final = {"read_latency": 39.3, "ordered_read_latency": 1.56}
ROWS: Final = 20
"""Rows on a page; assumed. From 1 to 40 the pace in order is the same to 2 %."""
ORDERED_PAGES: Final = 8_000
STREWN_PAGES: Final = 400_000
STREWN_ROWS: Final = 2_000


def main() -> int:
    spec = load_device("local-nvme")
    assert isinstance(spec, SsdSpec)
    written = {name: getattr(spec, name).value for name in GIVEN_US}
    fitted = spec
    for _ in range(2):  # each latency enters the other's figure a little
        for name, pace_us in (("read_latency", strewn_us), ("ordered_read_latency", ordered_us)):
            fitted = solved(fitted, name, pace_us)
    off = 0.0
    for name, us in written.items():
        found = getattr(fitted, name).value
        off = max(off, abs(us / found - 1))
        print(f"{name}: fitted {found:.2f} us, in the file {us:g} us (given: {GIVEN_US[name]:g} us a page)")
    return int(off > 0.02)


def solved(spec: SsdSpec, name: str, pace_us: Callable[[SsdSpec], float]) -> SsdSpec:
    """`spec` with the latency `name` at which a page takes what is given."""
    us = brentq(lambda us: pace_us(having(spec, name, us)) - GIVEN_US[name], 1.0, GIVEN_US["read_latency"], xtol=0.01)
    return having(spec, name, float(us))


def having(spec: SsdSpec, name: str, us: float) -> SsdSpec:
    parameter: Time = getattr(spec, name)
    return spec.model_copy(update={name: parameter.model_copy(update={"value": us})})


def strewn_us(spec: SsdSpec) -> float:
    table = Table(STREWN_PAGES, STREWN_PAGES * ROWS, 0.0, STREWN_ROWS / (STREWN_PAGES * ROWS))
    pages = pages_in_order(table, np.random.default_rng(1))
    return ColdScan(table, build(spec), server()).run_s(ScanMethod.INDEX, pages) / len(np.unique(pages)) * 1e6


def ordered_us(spec: SsdSpec) -> float:
    table = Table(ORDERED_PAGES, ORDERED_PAGES * ROWS, 1.0, 0.01)
    return ColdScan(table, build(spec), server()).run_s(ScanMethod.SEQUENTIAL, np.arange(0)) / ORDERED_PAGES * 1e6


def server() -> Server:
    return Server(IoMethod.WORKER, 3, 16, load_processor())


if __name__ == "__main__":
    sys.exit(main())
