"""Simulated rates are kept between processes, as long as nothing that decides them changes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tierwise.core import paths
from tierwise.costs import iops as module
from tierwise.costs.iops import cached_rate, simulated_iops


@pytest.fixture
def rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERWISE_HOME", str(tmp_path))
    return tmp_path / "report" / "_build" / "rates"


@pytest.fixture
def simulate() -> Callable[[], float]:
    numbers = iter([1 / 3, 2 / 3, 1e300, 5e-324])
    return lambda: next(numbers)


def test_a_rate_is_simulated_once_and_comes_back_to_the_last_digit(rates: Path, simulate: Callable[[], float]) -> None:
    assert cached_rate("this", simulate) == cached_rate("this", simulate) == 1 / 3
    assert cached_rate("that", simulate) == 2 / 3


def test_other_code_simulates_anew(rates: Path, simulate: Callable[[], float], monkeypatch: pytest.MonkeyPatch) -> None:
    before = cached_rate("this", simulate)
    monkeypatch.setattr(module, "_code", lambda: "other code")
    assert cached_rate("this", simulate) != before


CRUCIAL_M4 = (paths.data() / "devices" / "crucial-m4.toml").read_text(encoding="utf-8")


def test_another_file_of_the_device_is_another_rate(rates: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "devices").mkdir(parents=True)
    found = []
    for most in (34_000, 17_000, 34_000):
        (tmp_path / "data" / "devices" / "crucial-m4.toml").write_text(
            CRUCIAL_M4.replace("value = 34000", f"value = {most}"), encoding="utf-8"
        )
        simulated_iops.cache_clear()  # as another process has none
        found.append(simulated_iops("crucial-m4"))
    simulated_iops.cache_clear()
    assert found[0] == found[2] == pytest.approx(34_000)
    assert found[1] == pytest.approx(17_000)
    assert len(list(rates.iterdir())) == 2
