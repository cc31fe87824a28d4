"""A verdict that hangs on the log's device stands only where the same cells, whose commits do not wait for the log, give the same one."""

from pathlib import Path

import duckdb
import pytest

from rows import make_run
from tierwise.analysis.causes import Cause
from tierwise.analysis.claim_rows import Rows
from tierwise.analysis.claims import Claim
from tierwise.analysis.judging import ClaimVerdict, Grounds, judge_cases
from tierwise.analysis.rules import Verdict
from tierwise.timings.manifest import load_manifest

PAIR = "a-pair"
TWIN = "async-commit"
SELECT = {"variant": "published", "placement": "table_ssd"}
CLAIM = Claim.model_validate(
    {
        **dict.fromkeys(("statement", "where", "quotation"), "as published"),
        "id": "V2",
        "kind": "ratio",
        "how": "stated",
        "bounds": {"lower": 3.0},
        "bounds_how": "stated",
        "cases": [{"name": "large", "study": "pgbench_placement", "select": SELECT}],
    }
)


def judged(folder: Path, ratios: dict[str, float], hangs_on: str | None) -> ClaimVerdict:
    connection = duckdb.connect()
    connection.execute(
        "create table pgbench_placement (pair text, io_mode text, replicate int, evidence text, flagged bool, ratio double, variant text, "
        "placement text, hangs_on text)"
    )
    rows = [
        (
            PAIR,
            "direct",
            replicate,
            "emulated",
            False,
            ratio * 1.001**replicate,
            variant,
            "table_ssd",
            hangs_on if variant != TWIN else None,
        )
        for variant, ratio in ratios.items()
        for replicate in range(5)
    ]
    connection.executemany(f"insert into pgbench_placement values ({', '.join('?' * 9)})", rows)
    return judge_cases(CLAIM, Grounds(PAIR, Rows(connection, load_manifest(make_run(folder)))))


@pytest.mark.parametrize(
    ("twin", "hangs_on", "expected"),
    [
        (5.0, TWIN, Verdict.CONFIRMED),
        (2.0, TWIN, Verdict.UNDECIDED),
        (None, TWIN, Verdict.UNDECIDED),
        (2.0, None, Verdict.CONFIRMED),
        (None, None, Verdict.CONFIRMED),
    ],
)
def test_a_verdict_needs_the_same_one_of_its_twin(tmp_path: Path, twin: float | None, hangs_on: str | None, expected: Verdict) -> None:
    found = judged(tmp_path, {"published": 4.0, **({TWIN: twin} if twin else {})}, hangs_on)
    assert found.verdict is expected
    assert (found.cause is Cause.LOG) == (expected is Verdict.UNDECIDED)
    assert found.cases[0].hangs_on == ((hangs_on,) if hangs_on else ())
    assert [one.variant for one in found.others] == ([TWIN] if twin else []), "both stand beside each other"
    if expected is Verdict.UNDECIDED:
        assert ("gives the verdict contradicted" if twin else "was not measured") in found.reason
        assert "synchronous_commit" in found.cure
