"""The survey's files moved to the SSDs for a job and back (statement H11): the moves that a run timed, and the same moves simulated."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import duckdb

from tierwise.advisor.moving import MovePlan, Times, copies_s, plan_move
from tierwise.advisor.service import NewDevice
from tierwise.advisor.workload import SLOW
from tierwise.analysis import heat
from tierwise.analysis.claim_rows import mode_in, mode_of
from tierwise.analysis.heat import Record
from tierwise.analysis.statistics import enough
from tierwise.core.vocabulary import Evidence, IoMode, Way
from tierwise.devices.spec import load_device
from tierwise.studies.survey_placement.reading.names import BASE, SQL, STUDY

MOVED: Final = {"index_ssd": "the indexes", "source_ssd": "Source", "detection_ssd": "Detection"}  # placement -> what it has on the SSDs


@dataclass(frozen=True)
class Moved:
    """One placement's files, copied to the tier `ssd` and back by the server, or `modelled`: one simulated time for all replicates."""

    placement: str
    ssd: str
    sizes_bytes: Mapping[str, int]
    there: Times
    back: Times
    modelled: bool = False


def moves_of(connection: duckdb.DuckDBPyConnection, pair: str) -> list[Moved]:
    """Return the moves that were timed often enough without a flag; none where the study did not end, and so recorded no sizes."""
    record = heat.record_of(connection, STUDY, pair)
    if record is None:
        return []
    rows = connection.execute(SQL["moves"], [pair, mode_in(connection, "survey_moves", pair, study=STUDY)]).fetchall()
    found = []
    for placement in MOVED:
        own = [row for row in rows if row[0] == placement]
        if not enough(len(own)):
            continue
        evidence = Evidence.of({Evidence(row[3]) for row in own})
        there, back = (Times({row[2]: row[column] for row in own}, evidence) for column in (4, 5))
        found.append(Moved(placement, own[0][1], _sizes(record, placement), there, back))
    return found


def timed_of(connection: duckdb.DuckDBPyConnection, pair: str) -> tuple[IoMode, int] | None:
    """Return (how the server of `moves_of` did I/O, how many of its moves are flagged); `None` where no move was timed."""
    flagged = {IoMode(mode): number for mode, number in connection.execute(SQL["timed"], [pair]).fetchall()}
    return (mode, flagged[mode]) if flagged and (mode := mode_of(STUDY, flagged)) else None


def plans_of(connection: duckdb.DuckDBPyConnection, pair: str, moves: Sequence[Moved]) -> dict[tuple[str, str], MovePlan]:
    """Return (placement, query) -> after how many such queries the move has paid, by times of the same replicate."""
    rows = connection.execute(SQL["jobs"], [pair, mode_in(connection, STUDY, pair)]).fetchall()
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


def modelled(record: Record, placement: str, ssd: str) -> list[Moved]:
    """Return the move to the tier `ssd` and back by the devices' models, page by page; none where a tier is a real directory."""
    tiers = record.pair.get("tiers") or {}
    devices = [str(tiers[tier]["device"]) for tier in (SLOW, ssd) if "device" in tiers.get(tier, {})]
    if len(devices) < 2:
        return []
    sizes = _sizes(record, placement)
    slow, fast = (partial(NewDevice, load_device(device), stretch=record.stretch) for device in devices)
    there, back = (Times.simulated(partial(copies_s, sizes, Way.SERVER, ends)).as_one() for ends in ((slow, fast), (fast, slow)))
    return [Moved(placement, ssd, sizes, there, back, modelled=True)]


def _sizes(record: Record, placement: str) -> dict[str, int]:
    return {name: record.facts["size_bytes"][name] for name in record.facts["on_ssd"][placement]}
