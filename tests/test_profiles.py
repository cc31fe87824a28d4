"""The profiles that come with the project, and what their numbers promise."""

import re

import pytest

from tierwise.core.errors import InputError
from tierwise.core.paths import home
from tierwise.core.profiles import load_profile, names
from tierwise.core.units import GB
from tierwise.core.vocabulary import IoMode

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


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="full, quick, smoke"):
        load_profile("huge")
