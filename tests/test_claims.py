"""The published claims are data, typed and complete; each can be looked up in the views that it names."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from latency_rows import latency_run
from pgbench_rows import LARGE, SMALL, pgbench_rows
from rows import make_rows, save_run
from support import shared
from survey_rows import array_rows, placement_rows
from tierwise.analysis.claims import Claim, Claims, Kind, load_claims
from tierwise.analysis.views import open_views
from tierwise.core import studies
from tierwise.core.errors import InputError
from tierwise.core.toml import validate
from zipf_run import zipf_run

CASE = {"name": "FL", "study": "index_placement", "select": {"cache": "cold"}}
RATIO = {
    "id": "M1",
    "statement": "so it is",
    "kind": "ratio",
    "how": "stated",
    "where": "p. 1",
    "bounds": {"lower": 0.03, "upper": 0.10},
    "bounds_how": "stated",
    "cases": [CASE],
}


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in RATIO.items() if name != field}


def test_source_m_is_complete() -> None:
    assert [claim.id for claim in load_claims().claims if claim.source == "M"] == ["M1", "M2", "M3", "M4", "M5", "M6"]


def test_source_r_is_complete() -> None:
    assert [claim.id for claim in load_claims().claims if claim.source == "R"] == [f"R{number}" for number in range(1, 12)]


def test_source_v_is_complete() -> None:
    assert [claim.id for claim in load_claims().claims if claim.source == "V"] == ["V1", "V2", "V3", "V4", "V5", "V6"]


def test_bounds_are_those_of_the_published_figures() -> None:
    table = shared("published-figures.md").read_text(encoding="utf-8")
    for claim in load_claims().claims:
        (line,) = [line for line in table.splitlines() if line.startswith(f"| {claim.id} |")]
        bounds, how = (cell.strip() for cell in line.strip("|").split("|")[-2:])
        assert how.startswith({"chart": ("chart", "numbers certain")}.get(claim.how, claim.how))
        if claim.kind is not Kind.RATIO:
            continue
        assert claim.bounds is not None
        stands, *star = bounds.split(" *")
        assert (star == [""]) == (claim.bounds_how == "assumed")
        ends = [end for end in (claim.bounds.lower, claim.bounds.upper) if end is not None]
        assert [float(figure) for figure in re.findall(r"[\d.]+", stands)] == ends
        assert {"[": (True, True), "<": (False, True), ">": (True, False)}[stands[0]] == (
            bool(claim.bounds.lower),
            bool(claim.bounds.upper),
        )


def test_every_source_pair_is_named_once() -> None:
    pairs = [source.pair for source in load_claims().sources.values()]
    assert len(set(pairs)) == len(pairs)


def test_every_state_selects_rows_of_its_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pgbench = [pgbench_rows(LARGE, blocks=1), pgbench_rows(SMALL, size="small", blocks=1)]
    save_run(tmp_path, pl.concat([make_rows(blocks=1), *pgbench, array_rows(blocks=1), placement_rows(blocks=1)]))
    latency_run(tmp_path, blocks=1)
    zipf_run(tmp_path, monkeypatch, blocks=1)
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
        ({**RATIO, "kind": "shape", "bounds": None, "bounds_how": None, "cases": ()}, "of kind shape needs facts"),
    ],
)
def test_a_claim_that_breaks_a_rule_is_refused(table: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError) as caught:
        validate(table, Claim, where="claims.toml")
    assert rule in str(caught.value)


def test_ids_are_unique_and_sources_described() -> None:
    source = {"name": "n", "title": "t", "author": "a", "system": "s", "pair": "source-m"}
    with pytest.raises(InputError, match="ids must be unique"):
        validate({"sources": {"M": source}, "claims": [RATIO, RATIO]}, Claims, where="claims.toml")
    with pytest.raises(InputError, match="sources that are not described"):
        validate({"sources": {"L": source}, "claims": [RATIO]}, Claims, where="claims.toml")


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({"lower": 0.03, "upper": 0.1}, "0.03 to 0.1"),
        ({"upper": 0.2}, "at most 0.2"),
        ({"lower": 2e6}, "at least 2,000,000"),
        ({"lower": 4.2275, "upper": 4.6725}, "4.23 to 4.67"),
        ({"lower": 3.0, "strict": True}, "more than 3"),
        ({"upper": 3.0, "strict": True}, "less than 3"),
    ],
)
def test_bounds_in_words(bounds: dict[str, Any], text: str) -> None:
    assert str(validate({**RATIO, "bounds": bounds}, Claim, where="claims.toml").bounds) == text
