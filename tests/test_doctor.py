"""`tierwise doctor`: what is there, what is missing, what that costs, the remedy, and whether `make report` can run."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tierwise import doctor
from tierwise.core.pace import calibrate
from tierwise.core.paths import home
from tierwise.doctor import Finding, Status

Examine = Callable[[], dict[str, Finding]]
calibrated = cache(calibrate)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Provide an empty folder that the server's account can enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="tierwise-doctor-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def examine(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Examine:
    monkeypatch.setenv("TIERWISE_WORK", str(open_folder / "work"))
    monkeypatch.delenv("PG_BIN", raising=False)
    monkeypatch.delenv("PROFILE", raising=False)
    monkeypatch.setattr(doctor, "calibrate", calibrated)

    def by_name() -> dict[str, Finding]:
        findings = doctor.examine()
        named = {finding.name: finding for finding in findings}
        assert len(named) == len(findings)
        return named

    return by_name


def test_whatever_is_missing_says_what_it_costs_and_what_mends_it(examine: Examine) -> None:
    for finding in examine().values():
        assert finding.detail
        assert bool(finding.cost) == bool(finding.remedy) == (finding.status is not Status.OK), finding
        assert finding.name != "PostgreSQL" or finding.detail.endswith("from its wheel")


def test_postgresql_may_come_from_pg_bin(debians_15: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN", str(debians_15))
    finding = examine()["PostgreSQL"]
    assert finding.status is Status.OPTIONAL
    assert finding.detail.startswith("15.")
    assert "buffered" in finding.cost


def test_without_postgresql_no_report_can_run(
    examine: Examine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    assert doctor.main() == 1
    assert "make report cannot run: PostgreSQL" in capsys.readouterr().out


def test_optional_programs_keep_nothing_from_running(examine: Examine, monkeypatch: pytest.MonkeyPatch, open_folder: Path) -> None:
    (open_folder / "test").symlink_to(shutil.which("test") or "test")  # asks whether the server's account can enter a folder
    (open_folder / "fio").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    (open_folder / "fio").chmod(0o755)
    monkeypatch.setenv("PATH", str(open_folder))
    findings = examine()
    for name in ("fio", "strace", "bpftrace", "Chromium", "Quarto"):
        assert findings[name].status is Status.OPTIONAL, findings[name]
    assert findings["fio"].remedy.endswith("apt-get install fio")
    assert "does not run" in findings["fio"].detail


def spaces() -> dict[str, Status]:
    return {finding.name: finding.status for finding in doctor._work_folder()}


@pytest.mark.usefixtures("examine")
def test_a_profile_that_does_not_fit_matters_if_it_is_the_requested_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    shutil.copytree(home() / "data" / "profiles", tmp_path / "data" / "profiles")
    full = tmp_path / "data" / "profiles" / "full.toml"
    full.write_text(full.read_text(encoding="utf-8").replace("12_000_000_000", "12_000_000_000_000_000"), encoding="utf-8")
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    assert spaces()["space for full"] is Status.OPTIONAL
    monkeypatch.setenv("PROFILE", "full")
    assert spaces()["space for full"] is Status.MISSING
    monkeypatch.setenv("PROFILE", "huge")
    assert spaces()["space for huge"] is Status.MISSING


def test_a_work_folder_that_is_somebody_elses_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "theirs.txt").write_text("precious", encoding="utf-8")
    monkeypatch.setenv("TIERWISE_WORK", str(tmp_path))
    assert spaces()["work folder"] is Status.MISSING
    assert [path.name for path in tmp_path.iterdir()] == ["theirs.txt"]
