"""What a move saved against what was predicted; bloat that went is not the device's; and the check of many measured moves."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import said, said_as_json
from test_server_advice import WITH_PLACE, activity, relation
from tierwise.core import paths
from tierwise.core.activity import ANSWER, Activity
from tierwise.core.errors import InputError
from validate_advice import OUT, judged

HOST = "abc"
PLACES = {"before.parquet": "pg_default", "after.parquet": "fast"}


@pytest.fixture
def tiers(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(WITH_PLACE.replace("read_ms", f"calibrated_on = '{HOST}'\nread_ms"))
    return str(path)


def kept(path: Path, watch: Activity) -> str:
    """Write a file that has only the answer of a watch on the machine `HOST`."""
    answer = watch.model_copy(update={"host": HOST}).model_dump_json()
    pq.write_table(pa.table({"window": [0]}).replace_schema_metadata({ANSWER: answer}), path)
    return str(path)


def after(waiting_s: tuple[float, float], *, gib: float = 1.0, reads_per_s: float = 50.0, place: str = "fast") -> Activity:
    """Return a watch of as many reads a transaction as before, if `reads_per_s` is 50."""
    whole_s = 0.02 + sum(waiting_s)
    rate = 4 / whole_s
    busy = relation(1, "busy", waiting_s[0], gib=gib, tablespace=place, reads_per_s=reads_per_s * rate / 40)
    loads = busy, relation(2, "stays", waiting_s[1], reads_per_s=50.0 * rate / 40)
    watch = activity(*loads)
    windows = tuple(window.model_copy(update={"transaction_s": whole_s}) for window in watch.windows)
    low = {"low": rate, "high": rate}
    return Activity.model_validate({**watch.model_dump(), "transaction_s": whole_s, "transactions_per_s": low, "windows": windows})


def checked(tmp_path: Path, tiers: str, then: Activity) -> list[str]:
    before = activity(relation(1, "busy", 0.05, gib=2.0), relation(2, "stays", 0.03))
    files = kept(tmp_path / "before.parquet", before), kept(tmp_path / "after.parquet", then)
    return ["check", "--before", files[0], "--after", files[1], "--tiers", tiers]


@pytest.mark.parametrize(("waiting_s", "held"), [((0.0005, 0.02), True), ((0.04, 0.03), False)])
def test_a_prediction_holds_or_misses(waiting_s: tuple[float, float], held: bool, tiers: str, tmp_path: Path) -> None:
    command = checked(tmp_path, tiers, after(waiting_s, gib=2.0))
    found = said_as_json(*command)
    assert (found["held"], found["moved"]) == (held, ["busy"])
    assert ("The prediction held" if held else "The prediction missed") in said(*command)
    assert [unit["moved"] for unit in found["units"]] == [True, False]


def test_other_transactions_than_before_are_not_compared(tiers: str, tmp_path: Path) -> None:
    command = checked(tmp_path, tiers, after((0.0005, 0.02), gib=2.0, reads_per_s=25.0))
    assert said_as_json(*command)["other_work"] == ["busy"]
    assert "Cannot compare" in said(*command)


def test_bloat_that_a_rewrite_removed_is_not_the_devices(tiers: str, tmp_path: Path) -> None:
    command = checked(tmp_path, tiers, after((0.0005, 0.02), gib=1.0, reads_per_s=25.0))
    found = said_as_json(*command)
    assert found["rewrite_s"] == pytest.approx(0.025), "half of its reads went, which waited for 50 ms"
    assert found["seen_s"]["high"] < 0.04
    assert "removed bloat" in said(*command)


def test_the_page_loads_nothing_and_shows_names_as_text(tiers: str, tmp_path: Path) -> None:
    activity_file = kept(tmp_path / "activity.parquet", activity(relation(1, "<script>", 0.05), relation(2, "stays", 0.03)))
    said("advise", "--activity", activity_file, "--tiers", tiers, "--report", str(tmp_path / "page"))
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 3, "in the sentence, the table and the chart"
    assert {address for address in re.findall(r"https?://[^\"' <]+", page) if "w3.org" not in address} == set()
    assert "<svg" in page
    assert "¶" not in page
    assert "SHA-256" in page
    with pytest.raises(InputError, match="must not exist"):
        said("advise", "--activity", activity_file, "--tiers", tiers, "--report", str(tmp_path / "page"))


def test_what_did_not_move_and_another_database_are_refused_and_a_key_restores_names(tiers: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="moved to the SSD"):
        said(*checked(tmp_path, tiers, after((0.05, 0.03), place="pg_default")))
    with pytest.raises(InputError, match="database"):
        said(*checked(tmp_path, tiers, after((0.0005, 0.02)).model_copy(update={"database": "other"})))
    key = tmp_path / "key.json"
    key.write_text(json.dumps({"names": {"busy": "restored"}}))
    assert "restored" in said(*checked(tmp_path, tiers, after((0.0005, 0.02))), "--key", str(key))
    advice = ["advise", "--tiers", tiers, "--activity", str(tmp_path / "before.parquet"), "--key", str(key)]
    assert "Move stays, restored" in said(*advice)
    standby = kept(tmp_path / "standby.parquet", activity(relation(1, "busy", 0.05)).model_copy(update={"standby": True}))
    again = said_as_json(*advice, "--activity", str(tmp_path / "before.parquet"), "--activity", standby)
    assert (again["transaction_s"], len(again["steps"])) == (pytest.approx(0.1), 2)
    with pytest.raises(InputError, match="no primary"):
        said("advise", "--tiers", tiers, "--activity", standby, "--activity", standby)


def test_the_log_that_moved_by_hand_is_predicted_too(tiers: str, tmp_path: Path) -> None:
    log = relation(0, "write-ahead log", 0.02, kind="wal", gib=None)
    files = [kept(tmp_path / name, activity(relation(1, "busy", 0.05, tablespace=place), log)) for name, place in PLACES.items()]
    command = ["check", "--before", files[0], "--after", files[1], "--tiers", tiers]
    alone, both = said_as_json(*command), said_as_json(*command, "--moved", "write-ahead log")
    assert both["moved"] == ["busy", "write-ahead log"]
    assert both["predicted_s"]["low"] > alone["predicted_s"]["low"]
    with pytest.raises(InputError, match="write-ahead log"):
        said(*command, "--moved", "busy")


COMMON = {
    "load": "survey",
    "open": None,
    "watched_s": 0.1,
    "half_s": 0.001,
    "noise": 0.01,
    "advised": ["table"],
    "sizes": {"table": 2.0, "index": 1.0},
}


def row(seen_s: float, *placement: str, low: float = 0.0, high: float = 0.0) -> dict[str, object]:
    return {**COMMON, "seen_s": seen_s, "placement": list(placement), "said_s": (low + high) / 2, "predicted_s": {"low": low, "high": high}}


def test_predicted_savings_are_counted_against_what_was_seen() -> None:
    rows = [row(0.1), row(0.04, "table", low=0.05, high=0.065), row(0.08, "index", low=0.03, high=0.04), row(0.001, "table", "index")]
    found = judged([*rows, {**COMMON, "load": "idle", "placement": None, "refused": "idle"}])
    assert (found["moves"], found["medium"]) == (3, 2)
    assert (found["saving within 20 %"], found["left within a factor of 1.5"]) == (0.5, 1.0)
    assert found["interval holds"] == pytest.approx(1 / 3)
    small = [row(0.1), row(0.09, "index", low=0.009, high=0.012), row(0.09, "table", low=0.0115, high=0.012)]
    assert judged(small)["small ones within noise or the interval"] == 0.5
    twice = [{**row(0.1), "earlier": [row(0.2)]}, {**row(0.04, "table", low=0.09, high=0.11), "earlier": [row(0.06)]}]
    assert judged(twice)["saving within 20 %"] == 1, "from 150 to 50 ms in the mean of both measurements"
    assert found["regret"] == 0


@pytest.mark.soak
@pytest.mark.alone
def test_moves_save_what_the_advice_predicts() -> None:
    subprocess.run([sys.executable, "scripts/validate_advice.py"], cwd=paths.home(), check=True)
    rows = json.loads((paths.data() / OUT).read_text(encoding="utf-8"))["rows"]
    found = judged(rows)
    assert found["medium"] >= 12
    assert found["medium with the log on the disk"] >= 6
    assert found["small ones whose measured interval reaches it"] == 1
    assert min(found["saving within 20 %"], found["left within a factor of 1.5"]) >= 0.75
    assert found["interval holds"] >= 0.8
    assert found["half-width"] <= 0.3
    assert found["regret"] <= 0.05
    assert [row["placement"] for row in rows if row["load"] == "idle"] == [None]
