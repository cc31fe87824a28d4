"""The published claims are data, typed and complete; each can be looked up in the views that it names."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from latency_rows import latency_run
from pgbench_rows import LARGE, SMALL, pgbench_rows
from rows import make_rows, save_run
from support import SHIPPED_RUN, shared
from survey_rows import PLACEMENT_S, array_rows, placement_rows
from tierwise.analysis.claims import Claim, Claims, Kind, load_claims, published_series
from tierwise.analysis.views import open_views
from tierwise.core import paths, studies
from tierwise.core.errors import InputError
from tierwise.core.toml import validate
from tierwise.timings.parts import read_rows

CASE = {"name": "FL", "study": "index_placement", "select": {"cache": "cold"}}
RATIO = {
    "id": "M1",
    "statement": "so it is",
    "kind": "ratio",
    "how": "stated",
    "where": "p. 1",
    "quotation": "so it is",
    "bounds": {"lower": 0.03, "upper": 0.10},
    "bounds_how": "stated",
    "cases": [CASE],
}


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in RATIO.items() if name != field}


def test_source_m_is_complete() -> None:
    assert [claim.id for claim in load_claims().claims if claim.source == "M"] == [f"M{number}" for number in range(1, 22)]


def test_bounds_are_those_of_the_published_figures() -> None:
    table = shared("published-figures.md").read_text(encoding="utf-8")
    listed = {line.split("|")[1].strip(): line for line in table.splitlines() if re.match(r"\| [A-Z]\d+ ", line)}
    assert listed.keys() <= {claim.id for claim in load_claims().claims}
    for claim in load_claims().claims:
        if claim.id not in listed:
            continue  # found in the texts later
        line = listed[claim.id]
        bounds, how = (cell.strip() for cell in line.strip("|").split("|")[-2:])
        assert how.startswith({"chart": ("chart", "numbers certain")}.get(claim.how, claim.how))
        if claim.kind is not Kind.RATIO:
            continue
        assert claim.bounds is not None
        stands, *star = bounds.split(" *")
        assert not star or claim.bounds_how == "assumed"
        ends = [end for end in (claim.bounds.lower, claim.bounds.upper) if end is not None]
        figures = [float(figure) for figure in re.findall(r"[\d.]+", stands)]
        assert set(figures) <= set(ends), claim.id
        assert len(ends) == len(figures) or claim.bounds_how == "assumed", "a side that the text does not give is ours"


SEEDS = dict(zip("MLVHR", range(5), strict=True))  # letter of a source -> the number that its text begins with


def seed(source: str) -> str:
    (found,) = shared("seeds").glob(f"{SEEDS[source]:03}_*.txt")
    return " ".join(found.read_text(encoding="utf-8").split())


def test_every_quotation_stands_in_its_text_in_its_order() -> None:
    for claim in load_claims().claims:
        text, start = seed(claim.source), 0
        for part in claim.quotation.split(" … "):
            found = re.compile(rf"(?<!\w){re.escape(' '.join(part.split()))}(?!\w)").search(text, start)
            assert found, f"{claim.id}: {part!r} does not follow"
            start = found.end()


def test_the_numbers_of_a_chart_are_quoted_or_the_claim_is_called_inferred() -> None:
    """The time of a query in a statement, and the least rate of an axis."""
    charts = [claim for claim in load_claims().claims if claim.how in {"chart", "inferred"}]
    assert charts
    for claim in charts:
        numbers = set(re.findall(r"(?<![\w.])\d+(?= s\b| transactions)", claim.statement))
        assert claim.how == "inferred" or numbers - {"20"} <= set(re.findall(r"\d+", claim.quotation)), claim.id
        assert claim.how == "inferred" or claim.id == "V6" or "inferred" in claim.statement or "certain" in claim.statement


def fitted_leaves() -> dict[float, str]:
    def leaves(record: object) -> Iterator[tuple[float, str]]:
        if isinstance(record, dict):
            if CLAIM.search(str(record.get("fitted_on", ""))):
                yield float(record["value"]), record["fitted_on"]
            for below in record.values():
                yield from leaves(below)

    files = [path for folder in ("devices", "machines") for path in (paths.data() / folder).glob("*.toml")]
    return dict(leaf for path in files for leaf in leaves(tomllib.loads(path.read_text(encoding="utf-8"))))


CLAIM = re.compile(r"\b[A-Z]\d+\b")


def test_what_is_fitted_is_said_with_its_value_at_every_claim_that_rests_on_it() -> None:
    fitted, claims = fitted_leaves(), load_claims().claims
    values = {f"{value:,g}" for value in fitted}
    judged = {claim.id for claim in claims if claim.source == "R" and claim.kind is not Kind.SHAPE}
    assert {claim.id for claim in claims if claim.fitted} == judged
    for claim in claims:
        if claim.fitted:
            reported = set(re.findall(r"\d[\d,.]*\d", claim.fitted.parameter))
            assert reported, claim.id
            assert reported <= values, claim.id
            ours = {one for value, on in fitted.items() if f"{value:,g}" in reported for one in CLAIM.findall(on)}
            if not (claim.id in ours and claim.fitted.left.startswith("nothing")):
                assert ours == set(CLAIM.findall(claim.fitted.on)), claim.id
    assert {claim.id for claim in claims if claim.fitted and claim.fitted.left.startswith("nothing")} == set(
        CLAIM.findall(" ".join(fitted.values()))
    )


def test_the_method_argues_for_every_claim_that_is_only_reported() -> None:
    method = (paths.home() / "report" / "method-verdicts.qmd").read_text(encoding="utf-8")
    argued = method.split("{#sec-unjudged}")[1].split("\n## ")[0]
    named = {name for group in re.findall(r"\*\* \(([^)]*)\)", argued) for name in group.split(", ")}
    assert named == {claim.id for claim in load_claims().claims if claim.unjudged}


def test_the_logged_fall_is_that_of_the_author_s_series() -> None:
    reported = {(tier, size): reads for tier, size, reads in published_series("data/published/ram_or_ssd_means.csv").iter_rows()}
    series = pl.read_csv(shared("realdata", "read_benchmark", "reads_per_s.csv"))
    tier, size, phase, _, reads = series.columns
    means = series.filter((pl.col(phase) == "measured") & (pl.col(size) == 16)).group_by(tier).agg(pl.col(reads).mean())
    assert dict(means.iter_rows()) == pytest.approx({name: reported[name, 16] for name in ("ssd", "hdd")}, rel=1e-3)
    known = shared("realdata", "README.md").read_text(encoding="utf-8")
    assert f"24 GiB have {reported['ssd', 24]:,} reads/s on the SSD and {reported['hdd', 24]} on the HDD" in known


def test_every_source_pair_is_named_once() -> None:
    pairs = [source.pair for source in load_claims().sources.values()]
    assert len(set(pairs)) == len(pairs)


def test_every_state_selects_rows_of_its_view(tmp_path: Path) -> None:
    parts: dict[str, Any] = {"script": "mix", "writes": 0.2, "skew": 1.1, "layout": "recent", "partitions": 16, "memory": 0.4}
    loads: list[dict[str, Any]] = [{}, {"memory": 0.134}, parts, {**parts, "hot": "ssd"}]
    pgbench = [pgbench_rows(LARGE if not load.get("hot") else {"all_hdd": 400.0}, replicates=1, mix=load) for load in loads]
    counts = [make_rows(replicates=1, variant=variant) for variant in ("published", "bitmap", "two-indexes")]
    queries = [placement_rows({**PLACEMENT_S, "sort": {"all_hdd": 3.0, "temp_ssd": 1.0}}, replicates=1), array_rows(replicates=1)]
    save_run(tmp_path, pl.concat([*counts, *pgbench, pgbench_rows(SMALL, size="small", replicates=1), *queries]))
    latency_run(tmp_path, replicates=1)
    save_run(tmp_path, read_rows(SHIPPED_RUN).filter(study="ram_or_ssd", pair="source-r", replicate=0))
    with open_views(tmp_path) as connection:
        for study in studies.names():
            connection.execute(f"create temp table rows_of_{study} as from {study}")
        for claim in load_claims().claims:
            for case in claim.cases:
                assert case.study in studies.names()
                chosen = " and ".join(f"{column} = ?" for column in case.select)
                found = connection.execute(
                    f"select {case.value} from rows_of_{case.study} where {chosen}", list(case.select.values())
                ).fetchall()
                assert len(found) == 1, (claim.id, case.name)


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ({**RATIO, "id": "q1"}, "id is 'q1'"),
        ({**RATIO, "id": "M0"}, "id is 'M0'"),
        ({**RATIO, "kind": "guess"}, "kind is 'guess'"),
        ({**RATIO, "how": "heard"}, "how is 'heard'"),
        ({**RATIO, "colour": "red"}, "colour is 'red'"),
        ({**RATIO, "statement": ""}, "statement is ''"),
        (without("where"), "where: Field required"),
        (without("bounds"), "of kind ratio needs bounds"),
        (without("bounds_how"), "of kind ratio needs bounds_how"),
        (without("cases"), "of kind ratio needs cases"),
        ({**RATIO, "bounds": {}}, "bounds need a lower or an upper side"),
        ({**RATIO, "bounds": {"lower": 0.2, "upper": 0.1}}, "lower must be below upper"),
        ({**RATIO, "bounds": {"lower": -1.0}}, "bounds.lower is -1.0"),
        ({**RATIO, "cases": [CASE, CASE]}, "cases must have different names"),
        ({**RATIO, "cases": [{**CASE, "study": "x; drop table y"}]}, "cases.0.study is"),
        ({**RATIO, "cases": [{**CASE, "select": {"a b": "c"}}]}, "cases.0.select.a b"),
        ({**RATIO, "cases": [{**CASE, "select": {}}]}, "cases.0.select is"),
        ({**RATIO, "orders": [{"greater": "FL", "than": "PR"}]}, "of kind ratio has no orders"),
        ({**RATIO, "facts": {"study": "index_placement", "key": "planner"}}, "of kind ratio has no facts"),
        ({**without("bounds"), "kind": "order", "orders": [{"greater": "FL", "than": "PR"}]}, "of kind order has no bounds_how"),
        ({**RATIO, "kind": "order", "bounds": None, "bounds_how": None}, "of kind order needs orders"),
        (
            {**RATIO, "kind": "order", "bounds": None, "bounds_how": None, "orders": [{"greater": "FL", "than": "PR"}]},
            "orders name cases that the claim has not: ['PR']",
        ),
        ({**RATIO, "kind": "presence"}, "of kind presence has no bounds"),
        ({**RATIO, "kind": "shape", "bounds": None, "bounds_how": None, "cases": ()}, "of kind shape needs unjudged"),
        ({**RATIO, "unjudged": "it is a guess"}, "of kind ratio has no unjudged"),
        (without("quotation"), "quotation: Field required"),
        ({**RATIO, "quotation": "x" * 251}, "quotation is"),
        ({**RATIO, "fitted": {"parameter": "p", "on": "o"}}, "fitted.left: Field required"),
    ],
)
def test_a_claim_that_breaks_a_rule_is_refused(table: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError) as caught:
        validate(table, Claim, where="claims.toml")
    assert rule in str(caught.value)


def test_ids_are_unique_and_sources_described() -> None:
    source = {"name": "n", "title": "t", "author": "a", "system": "s", "pair": "source-m"}
    deciding = {"index_placement": {"variant": "published", "io_mode": "buffered", "why": "w"}}
    for table, rule in (
        ({"deciding": deciding, "sources": {"M": source}, "claims": [RATIO, RATIO]}, "ids must be unique"),
        ({"deciding": deciding, "sources": {"L": source}, "claims": [RATIO]}, "sources that are not described"),
        ({"deciding": {}, "sources": {"M": source}, "claims": [RATIO]}, "studies that `deciding` does not name"),
    ):
        with pytest.raises(InputError, match=rule):
            validate(table, Claims, where="claims.toml")
