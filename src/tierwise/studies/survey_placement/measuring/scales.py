"""One join of the survey at several sizes of its data, cold, simulated: everything on the disks, or Detection on the SSDs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tierwise.bench.loaded_tables import Rows, cold_pages, load_once, planned_before, sizes_bytes
from tierwise.bench.query_scaling import ScaledQuery, Scales, Size, can_be_recorded, simulated
from tierwise.bench.testbed import Testbed
from tierwise.datasets import survey
from tierwise.postgres.cold_proof import relation_files
from tierwise.studies.survey_placement.measuring.queries import BY_INDEX, QUERIES, RELATIONS, QueryName, find_facts
from tierwise.timings.replicates import Facts

QUERY: Final[QueryName] = "join_single"
PLACEMENTS: Final = ("all_hdd", "detection_ssd")


@dataclass(frozen=True, slots=True)
class Common:
    testbed: Testbed
    held_on: str  # a tier without seeks, where smaller surveys are read while their requests are recorded: disks keep their layout
    fraction: float  # of the survey's sources, in the run
    published_rows: float  # of Detection, in the source
    memory_bytes: Callable[[Mapping[str, int]], int]  # of the server, for relations of these sizes
    folder: Path  # of generated rows


def by_scale(
    common: Common, scales: Scales, whole: ScaledQuery, placements: Mapping[str, Mapping[str, str]], *, detections: int
) -> list[Facts]:
    """Return what the join takes on each of `placements` (relation -> tier), a fact for each size; none where the pair is not emulated."""
    if not can_be_recorded(common.testbed):
        return []
    sizes = [*_smaller(common, scales), Size(1.0, detections, common.published_rows, whole)]
    return simulated(common.testbed, sizes, placements, requests=scales.requests)


def join_query(statement: str, schema: str, files: list[Path], memory_bytes: int, expected: Mapping[str, int]) -> ScaledQuery:
    return ScaledQuery(
        RELATIONS, files, statement, planned_before(_within(schema), statement), memory_bytes, expected, QUERIES[QUERY].nodes
    )


def _within(schema: str) -> tuple[str, ...]:
    return (f"SET search_path = {schema}", *BY_INDEX[1:])


def _smaller(common: Common, scales: Scales) -> list[Size]:
    testbed, tables, sizes = common.testbed, survey.load_tables(), []
    with testbed.loading() as connection:
        for number, share in enumerate(sorted(scales.shares)):
            data = survey.acquire(fraction=common.fraction * share, seed=testbed.seed, folder=common.folder)
            schema = f"size_{number}"
            load_once(
                connection, schema, common.held_on, [Rows(tables[name], data[name].parquet, data[name].rows) for name in survey.NAMES]
            )
            memory_bytes = common.memory_bytes(sizes_bytes(connection, RELATIONS))
            statement = find_facts(connection, light_curves=1, joined=1).statement(QUERY)
            files = relation_files(connection, RELATIONS)
            uncounted = join_query(statement, schema, files, memory_bytes, {})
            sizes.append(Size(share, data["Detection"].rows, common.published_rows, uncounted))
    return [replace(size, scaled_query=_counted(testbed, size.scaled_query)) for size in sizes]


def _counted(testbed: Testbed, query: ScaledQuery) -> ScaledQuery:
    return replace(query, expected=cold_pages(testbed, RELATIONS, query.statement, query.setup).pages)
