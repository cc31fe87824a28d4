"""The profiles that come with the project, and the names of version 0.2 that are refused in one line."""

import re
import sys
from types import SimpleNamespace

import pytest

from tierwise.bench.loop import requested_inputs
from tierwise.core.errors import InputError
from tierwise.core.pairs import Pair
from tierwise.core.paths import home
from tierwise.core.profiles import Profile, load_profile, names
from tierwise.core.toml import validate
from tierwise.core.units import GB
from tierwise.core.vocabulary import IoMode
from tierwise.report.run import open_run

FEWEST_REPLICATES_FOR_A_VERDICT = 5


def environment_bytes() -> int:
    found = re.search(r"(?m)^environment_bytes=(\d+)", (home() / "scripts" / "setup.sh").read_text(encoding="utf-8"))
    assert found
    return int(found[1])


@pytest.mark.parametrize("name", names())
def test_a_profile_says_what_it_is_and_can_give_a_verdict(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert profile.description.endswith(".")
    assert profile.replicates >= FEWEST_REPLICATES_FOR_A_VERDICT


def test_quick_fits_into_five_gigabytes_with_its_environment() -> None:
    assert load_profile("quick").free_space_bytes + environment_bytes() <= 5 * GB


def test_only_full_has_the_published_size_and_every_profile_has_every_io_mode() -> None:
    smoke, quick, full = (load_profile(name) for name in ("smoke", "quick", "full"))
    assert smoke.fraction < quick.fraction < full.fraction == 1.0
    assert full.io_modes == quick.io_modes == smoke.io_modes == tuple(IoMode)
    assert smoke.free_space_bytes < quick.free_space_bytes < full.free_space_bytes


@pytest.mark.parametrize(("old", "new"), [("blocks", "replicates"), ("arms", "io_modes")])
def test_an_old_key_of_a_profile_names_the_new_one(old: str, new: str) -> None:
    table = load_profile("quick").model_dump(mode="json")
    table[old] = table.pop(new)
    with pytest.raises(
        InputError, match=rf"^mine: {old} is [^\n]+: a key of version 0\.2\. Remedy: write {new}; tierwise 0\.2\.0 reads {old}$"
    ):
        validate(table, Profile, where="mine")


def test_an_old_key_of_a_pair_names_the_new_one() -> None:
    tier = {"kind": "directory", "directory": "/mnt/array", "substrate": "measured"}
    with pytest.raises(
        InputError, match=r"tiers\.hdd\.directory\.substrate is 'measured': a key of version 0\.2\. Remedy: write evidence;"
    ):
        validate({"name": "mine", "description": "Mine", "tiers": {"hdd": tier}}, Pair, where="mine")


@pytest.mark.parametrize(("old", "new"), [("BLOCK", "REPLICATE"), ("SOURCES", "RUN_ID, or CENSUS and SKY")])
def test_an_old_parameter_of_a_notebook_names_the_new_one(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(user_ns={old: None})))
    for opened in (open_run, lambda: requested_inputs(profile="smoke")):
        with pytest.raises(
            InputError, match=rf"^notebook: {old}: a parameter of version 0\.2\. Remedy: write {new}[^\n]*; tierwise 0\.2\.0 reads"
        ):
            opened()
