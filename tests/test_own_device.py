"""``tierwise device``: a device file from fio's JSON of either version, and from direct reads in a folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support import said, said_as_json
from tierwise.cli import app
from tierwise.core.errors import InputError
from tierwise.devices.model import build
from tierwise.devices.spec import SsdSpec, load_device

PERCENTILES = {"50.000000": 100, "95.000000": 140, "99.000000": 200, "99.900000": 900}


def fio3(iops: float, block: int, us: float, **more: Any) -> dict[str, Any]:
    rate = int(iops * block)
    shares = {name: int(value * us * 10) for name, value in PERCENTILES.items()}
    side = {"io_bytes": rate, "io_kbytes": rate // 1024, "bw_bytes": rate, "bw": rate // 1024, "iops": iops, "runtime": 1000}
    return {**side, "lat_ns": {"mean": us * 1000}, "clat_ns": {"mean": us * 1000, "percentile": shares}, **more}


def fio2(iops: float, block: int, us: float) -> dict[str, Any]:
    kib = int(iops * block / 1024)
    shares = {name: int(value * us / 100) for name, value in PERCENTILES.items()}
    return {"io_bytes": kib, "bw": kib, "iops": iops, "runtime": 1000, "lat": {"mean": us}, "clat": {"mean": us, "percentile": shares}}


def job(name: str, depth: int, group: int = 0, rw: str = "randread", **sides: Any) -> dict[str, Any]:
    return {"jobname": name, "groupid": group, "error": 0, "job options": {"rw": rw, "iodepth": str(depth)}, **sides}


def written(
    folder: Path, *jobs: dict[str, Any], version: str = "fio-3.41", before: str = "", options: dict[str, str] | None = None
) -> Path:
    path = folder / "fio.json"
    path.write_text(before + json.dumps({"fio version": version, "jobs": list(jobs), "global options": options or {}}), encoding="utf-8")
    return path


def answer(file: Path, *options: str) -> dict[str, Any]:
    out = file.with_name("mine.toml")
    out.unlink(missing_ok=True)
    return said_as_json("device", "from-fio", str(file), "--out", str(out), *options)["model"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("version", "side"), [("fio-3.41", fio3), ("fio-2.2.10", fio2)])
def test_both_versions_give_the_same_device(tmp_path: Path, version: str, side: Any) -> None:
    """Version 2 has latencies in microseconds and bytes in KiB, version 3 nanoseconds and bytes."""
    jobs = [job("one", 1, 0, read=side(10_000, 8192, 100)), job("many", 32, 1, read=side(200_000, 8192, 160))]
    model = answer(written(tmp_path, *jobs, version=version))
    shown = [(one["queue_depth"], one["block_bytes"], one["iops"], one["p50_ms"], one["p99_ms"]) for one in model["measured"]]
    assert shown == [
        (1, 8192, 10_000, pytest.approx(0.1), pytest.approx(0.2)),
        (32, 8192, 200_000, pytest.approx(0.16), pytest.approx(0.32)),
    ]
    assert model["max_read_iops"]["value"] == 200_000
    assert model["read_rate"]["value"] == pytest.approx(200_000 * 8192 / 1e6)
    assert model["read_latency"]["value"] == pytest.approx(0.1 - 8192 / 200_000 / 8192 * 1e3)


def test_the_device_can_be_named_and_does_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, job("one", 1, read=fio3(5000, 8192, 200)), before="fio: a warning before the JSON\n")
    out = tmp_path / "data" / "devices" / "mine.toml"
    out.parent.mkdir(parents=True)
    said("device", "from-fio", str(file), "--out", str(out), "--capacity-gib", "500")
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    spec = load_device("mine")
    assert isinstance(spec, SsdSpec)
    assert build(spec).capacity_bytes == pytest.approx(500 * 2**30, rel=1e-3)
    assert spec.read_latency.base + 8192 / spec.read_rate.base == pytest.approx(200e-6)


def test_jobs_of_one_group_are_one_load_and_reported_groups_count_all_their_jobs(tmp_path: Path) -> None:
    apart = answer(written(tmp_path, *(job(f"job{number}", 4, read=fio3(10_000, 4096, 400)) for number in range(3))))["measured"]
    assert [(one["queue_depth"], one["iops"]) for one in apart] == [(12, 30_000)]
    together = {"numjobs": "3", "group_reporting": "1"}
    reported = answer(written(tmp_path, job("all", 4, read=fio3(30_000, 4096, 400)), options=together))["measured"]
    assert [(one["queue_depth"], one["iops"]) for one in reported] == [(12, 30_000)]


def test_without_clocks_the_latency_follows_from_the_queue_depth(tmp_path: Path) -> None:
    """With gtod_reduce=1, fio reports no latencies."""
    blind = {"io_bytes": 81_920_000, "bw_bytes": 81_920_000, "iops": 10_000.0, "runtime": 1000, "lat_ns": {"mean": 0.0}}
    (point,) = answer(written(tmp_path, job("one", 2, read=blind)))["measured"]
    assert (point["mean_ms"], point["p50_ms"]) == (pytest.approx(0.2), None)


def test_writes_and_sequential_reads_have_rates_of_their_own(tmp_path: Path) -> None:
    mixed = job("mixed", 1, 0, "randrw", read=fio3(7000, 8192, 90), write=fio3(3000, 8192, 40))
    large = job("large", 8, 1, "read", read=fio3(3000, 1 << 20, 2600))
    model = answer(written(tmp_path, mixed, large))
    assert (model["read_rate"]["value"], model["max_read_iops"]["value"]) == (pytest.approx(3000 * 1.048576), 7000)
    assert (model["random_write_iops"]["value"], model["write_latency"]["source"]) == (3000, "fio-3.41, fio.json")
    only_reads = answer(written(tmp_path, large))
    assert only_reads["write_latency"]["source"] == "assumed"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "must be the JSON that fio writes"),
        ("[1, 2]", "must be the JSON that fio writes"),
        ('{"jobs": []}', "no job read or wrote"),
        ('{"jobs": [{"jobname": "a", "error": 5}]}', "the job failed"),
        ('{"jobs": [{"jobname": "a", "read": {"iops": "many", "bw": 20}}]}', "no number of fio's"),
        (json.dumps({"jobs": [job("w", 1, rw="randwrite", write=fio3(10, 4096, 50))]}), "no reads were measured"),
    ],
)
def test_other_files_are_refused_with_the_next_step(tmp_path: Path, text: str, rule: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rule) as caught:
        said("device", "from-fio", str(file), "--out", str(tmp_path / "mine.toml"))
    assert "Remedy: " in str(caught.value)
    assert not (tmp_path / "mine.toml").exists()


def test_a_file_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "mine.toml"
    out.write_text("mine", encoding="utf-8")
    file = written(tmp_path, job("one", 1, read=fio3(5000, 8192, 200)))
    with pytest.raises(InputError, match="already exists"):
        said("device", "from-fio", str(file), "--out", str(out))
    assert out.read_text(encoding="utf-8") == "mine"


def test_a_folder_is_calibrated_or_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["device", "calibrate", str(tmp_path), "--out", str(tmp_path / "mine.toml"), "--seconds", "0.3"])
    if isinstance(done.exception, InputError):
        assert "no direct reads" in str(done.exception), "a file system in memory"
        return
    assert done.exit_code == 0
    assert "reads/s" in done.output
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == [], "the measurement's file is gone"
    with pytest.raises(InputError, match="must be an existing directory"):
        said("device", "calibrate", str(tmp_path / "absent"), "--out", str(tmp_path / "other.toml"))
