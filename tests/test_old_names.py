"""A profile, a pair or a notebook parameter with a name of version 0.2 is refused in one line that says what to write."""

import sys
from types import SimpleNamespace

import pytest

from tierwise.bench.loop import requested_inputs
from tierwise.core.errors import InputError
from tierwise.core.pairs import Pair
from tierwise.core.profiles import Profile, load_profile
from tierwise.core.toml import validate
from tierwise.report.run import open_run


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
