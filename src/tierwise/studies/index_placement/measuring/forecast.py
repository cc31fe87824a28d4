"""The census study: trials on an emulated pair, from the pages that each query reads and what the pair's devices take for them.

How many heap pages a count finds is proportional to the rows (those of a state and of its areas grow with the file), and where they lie
follows the shares of the states of residence. What the host does beside is measured (``forecast.toml``).
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy.optimize import brentq

from tierwise.bench.sizes import Scales, replays_of
from tierwise.bench.study import Trial
from tierwise.core import paths
from tierwise.core.data_sets import SYNTHETIC
from tierwise.core.pairs import DirectoryTier, EmulatedTier, Pair, TierSpec
from tierwise.core.units import PAGE_BYTES
from tierwise.core.words import Substrate
from tierwise.datasets import census
from tierwise.datasets.census.facts import load_facts
from tierwise.devices.model import build
from tierwise.devices.spec import load_device
from tierwise.plan.forecast import Forecast, Measured, Prospect, load
from tierwise.simulate.replay import Access, Operation, Trace, lay_out, replay
from tierwise.studies.index_placement.measuring import trials as study
from tierwise.studies.index_placement.measuring.scales import PLACEMENTS, STATE

Pages = npt.NDArray[np.int64]

SAMPLE: Final = 2_000
"""Requests of a query that are replayed for their mean, in `SLICES` runs of neighbours, as every run of a dense and a thin part counts."""
SLICES: Final = 8
CLIMB: Final = 3
"""Reads of an index before the leaves, here and there on its tier."""
RAW_ROW_BYTES: Final = 351
"""The size of a row in the publisher's file, in bytes: 862,858,036 bytes, 2,458,285 rows."""
PACKED: Final = (".gz", ".bz2", ".zip")


class Constants(Measured):
    """What was measured of the study on one machine and pair."""

    heap_bytes_per_row: float = Field(gt=0)
    index_bytes_per_row: float = Field(gt=0, description="of each of the two indexes")
    server_bytes: float = Field(gt=0, description="an empty server with its log")
    heap_pages: dict[str, int] = Field(description="that a count finds in the published rows, by state")
    index_pages: dict[str, int] = Field(description="likewise, of the index")
    open_s: float = Field(description="cluster made, tiers mounted, kernel started; once")
    draw_row_s: float = Field(description="a row generated, once a block")
    load_row_s: float = Field(description="a row loaded, with its index, statistics and hint bits; once a copy")
    copy_row_s: float = Field(description="likewise of a copy that takes its rows from another")
    prepare_s: float = Field(description="whenever another placement begins")
    move_row_s: float = Field(description="likewise, for each row of the index that moves")
    trial_s: float = Field(description="server down and up again, caches emptied and looked at")
    warm_s: float = Field(description="a heap brought into memory beforehand, and looked for")
    warm_page_s: float = Field(description="likewise, for each page")
    request_s: float = Field(description="a read, beside the device's time")
    hit_row_s: float = Field(description="a row counted")
    real_share: dict[str, float] = Field(description="seconds of ours that one of the counted clock takes, by the table's tier")
    scales_s: float = Field(description="other sizes made beside their rows, and a count of each recorded; once a block")
    replay_request_s: float = Field(description="a request replayed")
    describe_s: float = Field(description="facts and predictions at the end")
    describe_row_s: float = Field(description="likewise, for each row")
    directory_read_s: float = Field(description="a read of a real disk, which is not known beforehand (assumed)")
    spreads: dict[str, float] = Field(description="standard deviation of the log ratio (index on ssd / on hdd) between blocks, quick")


def forecast(prospect: Prospect[study.Cell]) -> Forecast:
    """Return the forecast of the study on `prospect.pair`; an array or a disk of another make is asked for its own times."""
    constants = load("index_placement", Constants)
    rows = expected_rows(prospect.sources.get("census", SYNTHETIC), prospect.profile.fraction)
    scene = Scene(prospect.pair, rows, prospect.seed, constants)
    copies = {(trial.cell.table, study.variant_of(trial).build) for trial in prospect.trials}
    asks_planner = prospect.pair.name != prospect.profile.today
    copies |= {("hdd", "shuffled")} if asks_planner else set()
    replicated = {(trial.cell.table, study.variant_of(trial).build) for trial in prospect.trials if trial.replicated}
    blocks, scales = prospect.profile.blocks_of("index_placement"), study.grid(prospect.profile).scales
    preparations = blocks * len({trial.preparation for trial in prospect.trials})
    host_s = constants.open_s + constants.describe_s + (rows * constants.describe_row_s if asks_planner else 0.0)
    host_s += rows * prospect.labs(blocks) * (constants.draw_row_s + len(replicated) * constants.load_row_s)
    host_s += rows * len(copies - replicated) * constants.copy_row_s
    host_s += preparations * (constants.prepare_s + rows * constants.move_row_s)
    if asks_planner and prospect.pair.substrate is Substrate.EMULATED:
        host_s += blocks * _scales_s(scales, scene, constants)
    device_s = 0.0
    for trial in prospect.trials:
        busy_s, devices_s = scene.trial(trial, prospect.profile.memory_fraction)
        host_s += blocks * busy_s
        asked_s = blocks * prospect.real_s(devices_s, constants.real_share[trial.cell.table])
        host_s, device_s = (host_s + asked_s, device_s) if prospect.counted else (host_s, device_s + asked_s)
    for trial in prospect.waited:
        busy_s, devices_s = scene.trial(trial, prospect.profile.memory_fraction)
        host_s, device_s = host_s + busy_s, device_s + devices_s
    copy_bytes = rows * (constants.heap_bytes_per_row + 3 * constants.index_bytes_per_row)  # a moving index is there twice
    sort_bytes = rows * constants.heap_bytes_per_row  # of the copy in random order
    other_sizes = sum(scales.shares) if scales else 0.0
    disk_bytes = constants.server_bytes + (len(copies) + other_sizes) * copy_bytes + sort_bytes
    return Forecast(host_s, device_s, disk_bytes, _spreads(prospect, constants))


def _scales_s(scales: Scales | None, scene: "Scene", constants: Constants) -> float:
    """Seconds of the host for one count at several sizes, in a block."""
    if scales is None:
        return 0.0
    counted = scene.share * (constants.heap_pages[STATE] + constants.index_pages[STATE]) + CLIMB
    replayed = sum(replays_of(size, scales.requests) * size for share in (*scales.shares, 1.0) for size in [round(share * counted)])
    rows_s = sum(scales.shares) * scene.rows * (constants.draw_row_s + constants.load_row_s)
    return constants.scales_s + rows_s + len(PLACEMENTS) * replayed * constants.replay_request_s


def _spreads(prospect: Prospect[study.Cell], constants: Constants) -> dict[str, float]:
    """The spreads of the ratios that are measured: a cold one of the start state, a cross one of the next."""
    asked = {(trial.cell.variant, trial.cell.start) for trial in prospect.trials}
    names = {f"{variant} cold {start}" for variant, start in asked} | {f"{variant} cross {study.NEXT[start]}" for variant, start in asked}
    return {name: spread for name, spread in constants.spreads.items() if name in names}


def expected_rows(source: str, fraction: float) -> int:
    """Return rows of the census that `source` names, before it is read; of a packed file or a fetched one, the published number."""
    path = paths.home() / Path(source.removeprefix("file:")).expanduser()
    if source == "synthetic":
        return round(census.ROWS * fraction)
    if source.startswith("file:") and path.suffix not in PACKED and path.exists():
        return max(1, round(path.stat().st_size / RAW_ROW_BYTES))
    return census.ROWS


@dataclass
class Scene:
    """The study's data on the devices of `pair`."""

    pair: Pair
    rows: int
    seed: int
    constants: Constants
    _services_s: dict[tuple[str, str, bool], float] = field(default_factory=dict)

    @cached_property
    def share(self) -> float:
        """Return the share of the published rows that the forecast is for."""
        return self.rows / census.ROWS

    @cached_property
    def table_pages(self) -> int:
        """Return how many pages the heap has."""
        return round(self.rows * self.constants.heap_bytes_per_row / PAGE_BYTES)

    def trial(self, trial: Trial[study.Cell], memory_fraction: float) -> tuple[float, float]:
        """Return seconds of the host and of the devices in one execution."""
        variant, start = study.variant_of(trial), trial.cell.start
        following = study.NEXT[start]
        size_bytes = self.rows * (self.constants.heap_bytes_per_row + self.constants.index_bytes_per_row)
        room = variant.memory_bytes(memory_fraction, round(size_bytes)) / PAGE_BYTES
        shuffled = variant.build == "shuffled"
        first, second = self.pages(start, shuffled), self.pages(following, shuffled)
        asks_heap = not variant.cached and variant.scan.asks == "census"
        stays = len(first) <= room
        heap_reads = [(start, len(first)), (following, len(np.setdiff1d(second, first)) if stays else len(second))] if asks_heap else []
        if asks_heap and not stays:
            heap_reads.append((start, len(first)))  # hot, and yet all again
        table, index = trial.cell.table, trial.cell.index
        leaves = sum(self.share * self.constants.index_pages[state] for state in (start, following))
        reads = 2 * CLIMB + leaves + sum(count for _, count in heap_reads)
        seeks = 2 * CLIMB + (leaves / 2 if table == index and asks_heap else 0)  # from the heap to the next leaf and back; else in a row
        device_s = sum(count * self.service_s(table, state, shuffled) for state, count in heap_reads) + seeks * self.service_s(
            index, "", True
        )
        counted = self.share * (2 * census.COUNTS[start] + census.COUNTS[following])
        busy_s = self.constants.trial_s + reads * self.constants.request_s + counted * self.constants.hit_row_s
        if variant.cached:
            busy_s += self.constants.warm_s + self.table_pages * self.constants.warm_page_s
        return busy_s, device_s

    def pages(self, state: str, shuffled: bool) -> Pages:
        """Return the heap pages that hold a row of `state`, in order."""
        known = load_facts().states
        here = np.array([known_state.rows for known_state in known], dtype=np.float64)
        born = np.array([float(known_state.pob.get(census.STATES[state], 0)) for known_state in known])
        pages = here / here.sum() * self.table_pages
        found = born / born.sum() * census.COUNTS[state] * self.share
        if shuffled:
            pages, found = np.array([float(self.table_pages)]), np.array([found.sum()])
        else:
            wanted = self.constants.heap_pages[state] * self.share
            clustered = brentq(lambda apart: _distinct(found * apart, pages).sum() - wanted, 1e-3, 1e3)
            found = found * clustered
        chance, begins = np.random.default_rng(self.seed), np.concatenate([[0], pages.cumsum()[:-1]])
        counts = np.rint(_distinct(found, pages)).astype(np.int64)
        drawn = [
            begin + np.sort(chance.choice(max(int(size), count, 1), count, replace=False))
            for begin, size, count in zip(begins, pages, counts, strict=True)
        ]
        return np.concatenate(drawn).astype(np.int64)

    def service_s(self, tier: str, state: str, shuffled: bool) -> float:
        """Return mean time of a read on `tier`: of the pages of `state`, in order, or where `state` is empty of any page."""
        key = (tier, state, shuffled)
        if key not in self._services_s:
            self._services_s[key] = self._service_s(self.pair.tiers[tier], state, shuffled)
        return self._services_s[key]

    def _service_s(self, spec: TierSpec, state: str, shuffled: bool) -> float:
        if isinstance(spec, DirectoryTier):
            return self.constants.directory_read_s
        if not isinstance(spec, EmulatedTier):
            return 0.0  # replayed afterwards: nobody waits
        stretch = spec.scale / self.share
        device = build(load_device(spec.device), seed=self.seed, stretch=stretch)
        chosen = (
            _sliced(self.pages(state, shuffled))
            if state
            else np.random.default_rng(self.seed).integers(self.table_pages, size=SAMPLE // 10)
        )
        accesses = [
            Access("census", int(page), PAGE_BYTES, Operation.READ, self.constants.request_s, number - 1 if number else None)
            for number, page in enumerate(chosen)
        ]
        found = replay(Trace(accesses), {"census": "tier"}, {"tier": device}, lay_out({"census": (self.table_pages + 1) * PAGE_BYTES}))
        return sum(found.latencies_s) / len(found.latencies_s)


def _distinct(found: npt.NDArray[np.float64], pages: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Pages expected to hold any of `found` rows that are strewn over `pages`."""
    spread: npt.NDArray[np.float64] = pages * -np.expm1(-found / np.maximum(pages, 1.0))
    return spread


def _sliced(pages: Pages) -> Pages:
    length = SAMPLE // SLICES
    if len(pages) <= SAMPLE:
        return pages
    begins = np.linspace(0, len(pages) - length, SLICES).astype(np.int64)
    return np.concatenate([pages[begin : begin + length] for begin in begins])
