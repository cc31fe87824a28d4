"""Why a claim is open, and what would close it: no reason sends a reader to a profile that does not mend it."""

from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tierwise.core import paths, profiles
from tierwise.core.errors import InputError
from tierwise.core.profiles import Profile
from tierwise.core.text_template import render
from tierwise.timings.manifest import Manifest

LARGEST: Final = "full"  # the profile that measures most
JUMPS: Final = "jumps of the clock"  # what a study's view notes beside rows whose virtual clock went on for longer than their requests took


class Cause(Enum):
    """What keeps a claim open, as the tally counts it: a code, which `str` words."""

    REJECTED = "rejected"
    JUMPED = "jumped"
    FEW_REPLICATES = "few_replicates"
    STRADDLES = "straddles"
    MODEL = "model"
    SMALL = "small"
    CHANCE = "chance"
    FLAT = "flat"
    MISSING = "missing"
    NO_RUN = "no_run"
    SOMETIMES = "sometimes"
    PRICES = "prices"
    INPUT = "input"
    MIXED = "mixed"
    LOG = "log"
    SLOWED = "slowed"
    LEFT_OPEN = "left_open"
    STATED_RATE = "stated_rate"

    def __str__(self) -> str:
        return phrase(f"causes.{self.value}")

    @classmethod
    def _missing_(cls, value: object) -> "Cause | None":
        """Return the cause by its words, which stand in JSON."""
        return next((cause for cause in cls if str(cause) == value), None)


class Reason(NamedTuple):
    """Why a claim is open: a code, which is a key of `reasons` in ``words.toml``, and what it inserts; `str` words it."""

    code: str
    values: Mapping[str, object] = MappingProxyType({})

    def __str__(self) -> str:
        return phrase(f"reasons.{self.code}", **self.values)


def phrase(key: str, /, **values: object) -> str:
    """Return the text of `key`, an entry of ``words.toml``."""
    return render(f"analysis/words.toml:{key}", **values)


def cure(cause: Cause, manifest: Manifest | None, study: str = "") -> str:
    """Return what would decide a claim that is open for `cause` in the run of `manifest`, whose cells are those of `study`."""
    retried = manifest is not None and manifest.retry is not None
    return phrase(f"cures.{cause.value}", larger=_larger(manifest, study), retried=retried)


def _larger(manifest: Manifest | None, study: str) -> str:
    """`LARGEST`, where it measures more than the run's own profile did: more replicates, more rows, or a wider sweep."""
    if manifest is None:
        return LARGEST
    own, largest = _known(manifest.profile), _largest(paths.data())
    if manifest.profile.get("name") == LARGEST:
        return ""
    more = own is None or not study or largest.replicates_of(study) > own.replicates_of(study) or largest.fraction > own.fraction
    return LARGEST if more else ""


@cache
def _largest(data: Path) -> Profile:  # noqa: ARG001  the folder that the profile is read from
    return profiles.load_profile(LARGEST)


def _known(profile: Mapping[str, Any]) -> Profile | None:
    try:
        return Profile.model_validate(dict(profile))
    except (InputError, ValueError):
        return None
