"""The chapters on the census and the survey tell one comparison at three sizes, and say so where a run has one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rows import make_run
from survey_rows import RUN_ID, placement_rows, save_survey
from tierwise.report.page import open_page
from tierwise.report.run import Run, open_run
from tierwise.studies.index_placement.reading.values import values
from tierwise.timings.manifest import load_manifest

PUBLISHED_ROWS = 2_458_285


def entries(sizes: tuple[int, ...], published: float, base: str, moved: str, ratio: Callable[[float], float]) -> list[dict[str, Any]]:
    """Return what a run keeps of sizes whose ratio is exact but for a thousandth from replicate to replicate."""
    return [
        {
            "share": size / sizes[-1],
            "published_rows": published,
            "evidence": "simulated",
            "replicates": list(range(5)),
            "rows": [size] * 5,
            "requests": [7] * 5,
            "seconds": {base: [2.0] * 5, moved: [2.0 * ratio(size) * 1.001**replicate for replicate in range(5)]},
        }
        for size in sizes
    ]


def with_facts(folder: Path, study: str, facts: list[dict[str, Any]]) -> None:
    manifest = load_manifest(folder)
    records = tuple(
        one.model_copy(update={"facts": {**one.facts, "by_scale": facts}}) if one.name == study else one for one in manifest.studies
    )
    manifest.model_copy(update={"studies": records}).save(folder)


def census_run(raw: Path, ratio: Callable[[float], float]) -> Run:
    folder = make_run(raw, ratios={("cold", "NV"): 0.97})
    sizes = (24_583, 245_829, PUBLISHED_ROWS)
    with_facts(folder, "index_placement", entries(sizes, PUBLISHED_ROWS, "hdd", "ssd", ratio))
    return open_run(folder.name, raw)


def test_where_the_published_size_was_reached_the_smaller_ones_predict_it(tmp_path: Path) -> None:
    run = census_run(tmp_path, lambda rows: 0.9 * rows**0.005)
    found = values(run, "source-m")
    assert (found["scale_small_rows"], found["scale_rows"], found["scale_holds"]) == (24_583, PUBLISHED_ROWS, True)
    assert found["scale_saved"] == pytest.approx(100 - 90 * PUBLISHED_ROWS**0.005 * 1.002, rel=1e-3)


def test_the_join_is_carried_on_to_the_assumed_size(tmp_path: Path) -> None:
    folder = save_survey(tmp_path, placement_rows())
    with_facts(
        folder, "survey_placement", entries((6_500, 65_000, 650_000), 1e8, "all_hdd", "detection_ssd", lambda size: 0.5 * size**0.01)
    )
    found = open_page(open_run(RUN_ID, tmp_path), "survey_placement", "source-h").values
    assert (found["smallest"], found["largest"], found["published"]) == (6_500, 650_000, 100_000_000)
    assert found["published_gain"] == pytest.approx(1 / 0.602, rel=0.01), "0.5 * 1e8 ** 0.01, and a thousandth a replicate"
    assert found["largest_gain"] == pytest.approx(1 / (0.5 * 650_000**0.01), rel=0.01)


@pytest.mark.parametrize("facts", [None, []])
def test_a_run_at_one_size_says_so(tmp_path: Path, facts: list[dict[str, Any]] | None) -> None:
    folder = make_run(tmp_path)
    if facts is not None:
        with_facts(folder, "index_placement", facts)
    run = open_run(folder.name, tmp_path)
    assert values(run, "source-m")["scale_rows"] is None
    assert open_page(run, "survey_placement", "source-h").own["smallest"] is None
