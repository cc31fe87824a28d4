"""What the check of the advice against measured moves counts; the moves themselves, in ten hours at most, by ``make soak``."""

import json
import subprocess
import sys

import pytest

from tierwise.core import paths
from validate_advice import OUT, judged

COMMON = {"load": "survey", "open": None, "watched_s": 0.1, "noise": 0.01, "advised": ["table"], "sizes": {"table": 2.0, "index": 1.0}}


def row(seen_s: float, *placement: str, low: float = 0.0, high: float = 0.0) -> dict[str, object]:
    return {**COMMON, "seen_s": seen_s, "placement": list(placement), "said_s": (low + high) / 2, "predicted_s": {"low": low, "high": high}}


def test_predicted_savings_are_counted_against_what_was_seen() -> None:
    rows = [row(0.1), row(0.04, "table", low=0.05, high=0.065), row(0.08, "index", low=0.03, high=0.04), row(0.001, "table", "index")]
    found = judged([*rows, {**COMMON, "load": "idle", "placement": None, "refused": "idle"}])
    assert (found["moves"], found["medium"]) == (3, 2)
    assert (found["saving within 20 %"], found["left within a factor of 1.5"]) == (0.5, 1.0)
    assert found["interval holds"] == pytest.approx(1 / 3)
    assert found["regret"] == 0


@pytest.mark.soak
@pytest.mark.alone
def test_moves_save_what_the_advice_predicts() -> None:
    subprocess.run([sys.executable, "scripts/validate_advice.py"], cwd=paths.home(), check=True)
    rows = json.loads((paths.data() / OUT).read_text(encoding="utf-8"))["rows"]
    found = judged(rows)
    assert found["medium"] >= 12
    assert found["medium with the log on the disk"] >= 6
    assert found["small ones within noise or the interval"] == 1
    assert min(found["saving within 20 %"], found["left within a factor of 1.5"]) >= 0.75
    assert found["interval holds"] >= 0.8
    assert found["half-width"] <= 0.3
    assert found["regret"] <= 0.05
    assert [row["placement"] for row in rows if row["load"] == "idle"] == [None]
