"""One join of the survey at several sizes of its data: Source and Detection by a single index, cold, with everything on the disks and with
Detection on the SSDs, simulated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tierwise.bench.lab import Lab
from tierwise.bench.moved import Rows, cold_pages, load_once, planned_before, sizes_bytes
from tierwise.bench.sizes import Asked, Scales, Size, can_be_recorded, simulated
from tierwise.datasets import survey
from tierwise.postgres.cold import relation_files
from tierwise.studies.survey_placement.measuring.queries import BY_INDEX, QUERIES, RELATIONS, QueryName, find_facts
from tierwise.timings.replicates import Facts

QUERY: Final[QueryName] = "join_single"
PLACEMENTS: Final = ("all_hdd", "detection_ssd")
"""Placements that are compared at each size."""


@dataclass(frozen=True, slots=True)
class Block:
    """What a block has for every size: `fraction` of the survey's sources are its own, `published_rows` of Detection are the source's.

    `held_on`: the tier on which smaller surveys are read while their requests are recorded, one without seeks, so that the disks keep their
    layout; `memory_bytes`: of the server, for relations of these sizes; `folder`: where generated rows are kept.
    """

    lab: Lab
    held_on: str
    fraction: float
    published_rows: float
    memory_bytes: Callable[[Mapping[str, int]], int]
    folder: Path


def by_scale(block: Block, scales: Scales, whole: Asked, placements: Mapping[str, Mapping[str, str]], *, detections: int) -> list[Facts]:
    """Return what the join takes on each of `placements` (relation -> tier), a fact for each size: the shares of `scales`, and the block's
    own data, which `whole` asks and which have so many `detections`. Empty where the pair is not emulated."""
    if not can_be_recorded(block.lab):
        return []
    sizes = [*_smaller(block, scales), Size(1.0, detections, block.published_rows, whole)]
    return simulated(block.lab, sizes, placements, requests=scales.requests)


def asked(statement: str, schema: str, files: list[Path], memory_bytes: int, expected: Mapping[str, int]) -> Asked:
    """Return the join `statement` of the survey in `schema`, in `files`, as a cold server with so much memory is asked it."""
    return Asked(RELATIONS, files, statement, planned_before(_within(schema), statement), memory_bytes, expected, QUERIES[QUERY].nodes)


def _within(schema: str) -> tuple[str, ...]:
    """The switches by which every step of a join goes through an index, in `schema`."""
    return (f"SET search_path = {schema}", *BY_INDEX[1:])


def _smaller(block: Block, scales: Scales) -> list[Size]:
    """The smaller sizes, each loaded in a schema of its own where it is not there yet."""
    lab, tables, sizes = block.lab, survey.load_tables(), []
    with lab.loading() as connection:
        for number, share in enumerate(sorted(scales.shares)):
            data = survey.acquire(fraction=block.fraction * share, seed=lab.seed, folder=block.folder)
            schema = f"size_{number}"
            load_once(connection, schema, block.held_on, [Rows(tables[name], data[name].parquet, data[name].rows) for name in survey.NAMES])
            memory_bytes = block.memory_bytes(sizes_bytes(connection, RELATIONS))
            statement = find_facts(connection, light_curves=1, joined=1).statement(QUERY)
            files = relation_files(connection, RELATIONS)
            uncounted = asked(statement, schema, files, memory_bytes, {})
            sizes.append(Size(share, data["Detection"].rows, block.published_rows, uncounted))
    return [replace(size, asked=_counted(lab, size.asked)) for size in sizes]


def _counted(lab: Lab, query: Asked) -> Asked:
    """`query` with the pages that it must miss, counted on a server with memory for all that it reads."""
    return replace(query, expected=cold_pages(lab, RELATIONS, query.statement, query.setup).pages)
