"""The survey's files moved to the SSDs for a job and back (statement H11): the moves that a run timed, and the same moves simulated."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import duckdb

from tierwise.advisor.moving import Maker, MovePlan, Times, copies_s, plan_move
from tierwise.advisor.service import NewDevice
from tierwise.advisor.workload import SLOW
from tierwise.analysis import heat
from tierwise.analysis.deciding import mode_in, mode_of
from tierwise.analysis.heat import Record
from tierwise.analysis.statistics import enough
from tierwise.core.vocabulary import Evidence, IoMode, Way
from tierwise.devices.spec import load_device
from tierwise.studies.survey_placement.reading.names import BASE, STUDY

MOVED: Final = {"index_ssd": "the indexes", "source_ssd": "Source", "detection_ssd": "Detection"}
"""Placement -> what it has on the SSDs."""
MOVES_SQL: Final = """
select placement, ssd, replicate, evidence, there_s, back_s, device_s from survey_moves
where pair = ? and not flagged and there_s is not null and back_s is not null and device_s is not null
and io_mode = ? order by placement, replicate
"""
"""The timed moves as SQL, on tiers that count what their devices take."""
JOBS_SQL: Final = """
select query, placement, replicate, evidence, elapsed_s from survey_placement
where pair = ? and not flagged and io_mode = ?
order by query, placement, replicate
"""
TIMED_SQL: Final = "select io_mode, count(*) filter (flagged) from survey_moves where pair = ? group by io_mode"


@dataclass(frozen=True)
class Moved:
    """One placement's files, copied to the tier `ssd` and back by the server.

    `device_s` is the devices' part of both ways; the rest is the host's. `modelled`: nothing was timed, the devices' models copied, and
    each of the three times is one for all replicates.
    """

    placement: str
    ssd: str
    sizes_bytes: Mapping[str, int]
    there: Times
    back: Times
    device_s: Times
    modelled: bool = False

    @property
    def both_s(self) -> float:
        """Return the seconds of the move there and back, as the run timed it."""
        return self.there.mean_s + self.back.mean_s


def record_of(connection: duckdb.DuckDBPyConnection, pair: str) -> Record | None:
    """Return what the run keeps of the study; `None` where it did not end."""
    return heat.record_of(connection, STUDY, pair)


def moves_of(connection: duckdb.DuckDBPyConnection, pair: str) -> list[Moved]:
    """Return the moves that were timed often enough without a flag; none where the study did not end, and so recorded no sizes."""
    record = record_of(connection, pair)
    if record is None:
        return []
    rows = connection.execute(MOVES_SQL, [pair, mode_in(connection, "survey_moves", pair, study=STUDY)]).fetchall()
    found = []
    for placement in MOVED:
        own = [row for row in rows if row[0] == placement]
        if not enough(len(own)):
            continue
        evidence = Evidence.of({Evidence(row[3]) for row in own})
        there, back, device_s = (Times({row[2]: row[column] for row in own}, evidence) for column in (4, 5, 6))
        sizes = {name: record.facts["size_bytes"][name] for name in record.facts["on_ssd"][placement]}
        found.append(Moved(placement, own[0][1], sizes, there, back, device_s))
    return found


def timed_of(connection: duckdb.DuckDBPyConnection, pair: str) -> tuple[IoMode, int] | None:
    """Return (how the server of `moves_of` did I/O, how many of its moves are flagged); `None` where no move was timed."""
    flagged = {IoMode(mode): number for mode, number in connection.execute(TIMED_SQL, [pair]).fetchall()}
    return (mode, flagged[mode]) if flagged and (mode := mode_of(STUDY, flagged)) else None


def predicted_s(connection: duckdb.DuckDBPyConnection, pair: str, moved: Moved) -> float | None:
    """Return the same move there and back by the devices' models alone, page by page as the server copies (simulated).

    `None` where a tier is a real directory, of which there is no model.
    """
    record = record_of(connection, pair)
    copies = _copies(record, moved.sizes_bytes, moved.ssd) if record else None
    return sum(times.mean_s for times in copies) if copies else None


def plans_of(connection: duckdb.DuckDBPyConnection, pair: str, moves: Sequence[Moved]) -> dict[tuple[str, str], MovePlan]:
    """Return (placement, query) -> after how many such queries the move has paid; all times as the run took them, of the same replicate
    each.
    """
    rows = connection.execute(JOBS_SQL, [pair, mode_in(connection, STUDY, pair)]).fetchall()
    jobs = {
        key: Times({row[2]: row[4] for row in rows if row[:2] == key}, Evidence.of({Evidence(row[3]) for row in rows if row[:2] == key}))
        for key in dict.fromkeys(row[:2] for row in rows)
    }
    found = {}
    for moved in moves:
        for query in dict.fromkeys(query for query, _ in jobs):
            if {(query, BASE), (query, moved.placement)} <= jobs.keys():
                ends = (jobs[query, BASE], jobs[query, moved.placement])
                ways = (moved.there, moved.back)
                shared = set.intersection(*(set(one.by_replicate) for one in (ends if moved.modelled else (*ways, *ends))))
                if enough(len(shared)):
                    there, back = ways if moved.modelled else (_of(one, shared) for one in ways)
                    slow, fast = (_of(one, shared) for one in ends)
                    found[moved.placement, query] = plan_move(
                        moved.sizes_bytes, devices=(SLOW, moved.ssd), there=there, back=back, slow_job=slow, fast_job=fast
                    )
    return found


def _of(times: Times, replicates: Collection[int]) -> Times:
    return Times({replicate: times.by_replicate[replicate] for replicate in replicates}, times.evidence)


def modelled(record: Record, ssd: str) -> list[Moved]:
    """Return the moves to the tier `ssd` and back by the devices' models alone, page by page as the server copies (simulated); none where
    a tier is a real directory.
    """
    found = []
    for placement in MOVED:
        sizes = {name: record.facts["size_bytes"][name] for name in record.facts["on_ssd"][placement]}
        if copies := _copies(record, sizes, ssd):
            there, back = (times.as_one() for times in copies)
            both = Times({0: there.mean_s + back.mean_s}, Evidence.SIMULATED)
            found.append(Moved(placement, ssd, sizes, there, back, both, modelled=True))
    return found


def _copies(record: Record, sizes: Mapping[str, int], ssd: str) -> tuple[Times, Times] | None:
    """There and back by the devices' models, page by page; `None` where a tier is a real directory, of which there is none."""
    tiers = record.pair.get("tiers") or {}
    if any("device" not in tiers.get(tier, {}) for tier in (SLOW, ssd)):
        return None
    slow, fast = (_maker(str(tiers[tier]["device"]), record.stretch) for tier in (SLOW, ssd))
    there, back = (Times.simulated(partial(copies_s, sizes, Way.SERVER, ends)) for ends in ((slow, fast), (fast, slow)))
    return there, back


def _maker(device: str, stretch: float) -> Maker:
    return partial(NewDevice, load_device(device), stretch=stretch)
