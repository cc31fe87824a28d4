"""Why a claim is open, in words that name what would close it: no reason sends a reader to a profile that does not mend it."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from tierwise.core import paths, profiles
from tierwise.core.errors import InputError
from tierwise.core.profiles import Profile
from tierwise.timings.manifest import Manifest

LARGEST: Final = "full"
"""The profile that measures most."""
SCATTER: Final = "the scatter of the processors"
"""What a study's view notes beside rows that are flagged for nothing else."""

JUMPS: Final = "jumps of the clock"
"""What a study's view notes beside rows whose virtual clock went on for longer than their requests took."""


class Cause(StrEnum):
    """What keeps a claim open, as the tally counts it."""

    REJECTED = "observations were rejected"
    UNSTEADY = "nothing but processor time, which scatters by more than 5 %"
    JUMPED = "the virtual clock went on while nobody ran and no device served"
    FEW_REPLICATES = "the profile repeats too seldom"
    STRADDLES = "the interval holds a bound"
    SMALL = "it may be a difference of less than 5 %, which is no order"
    CHANCE = "outside by no more than chance does among so many cases"
    FLAT = "the repeats do not differ, so that nothing tells their scatter"
    MISSING = "this profile has no such cells"
    NO_RUN = "nothing was measured here yet"
    SOMETIMES = "seen in some replicates, not in others"
    PRICES = "the price band holds a bound"
    SERVERS = "it hangs on what a server holds"
    INPUT = "it is an input"
    MIXED = "the kinds of evidence are mixed"
    LEFT_OPEN = "it hangs on what the text leaves open"


def cure(cause: Cause, manifest: Manifest | None, study: str = "") -> str:  # noqa: PLR0911, PLR0912  one answer a cause
    """Return what would decide a claim that is open for `cause` in the run of `manifest`, whose cells are those of `study`."""
    match cause:
        case Cause.REJECTED:
            return "a quieter machine" if manifest and manifest.retry is not None else "RETRY=1 or a quieter machine"
        case Cause.UNSTEADY:
            return "processors that keep their pace: a whole machine, its frequency fixed"
        case Cause.JUMPED:
            return "windows that are waited for, or past the page cache"
        case Cause.FEW_REPLICATES | Cause.MISSING:
            return _larger(manifest, study) or ("more replicates" if cause is Cause.FEW_REPLICATES else "no profile of this machine")
        case Cause.NO_RUN:
            return "make report, or --run reference, the run that ships"
        case Cause.STRADDLES | Cause.SMALL | Cause.CHANCE:
            return " or ".join(filter(None, [_larger(manifest, study), "more replicates"]))
        case Cause.PRICES:
            return "prices that are known more closely"
        case Cause.SERVERS:
            return "the memory and the bays of a server in question"
        case Cause.MIXED:
            return "a pair of one evidence"
        case Cause.INPUT:
            return "nothing: it is never tested"
        case Cause.FLAT:
            return "replicates whose data are drawn anew"
        case Cause.LEFT_OPEN:
            return "nothing that can be measured: the text would have to state it"
        case Cause.SOMETIMES:
            return "no more of the same measuring"


def _larger(manifest: Manifest | None, study: str) -> str:
    """``PROFILE=full``, where that measures more than the run's own profile did: more replicates, more rows, or a wider sweep."""
    if manifest is None:
        return f"PROFILE={LARGEST}"
    own, largest = _known(manifest.profile), _largest(paths.data())
    if manifest.profile.get("name") == LARGEST:
        return ""
    more = own is None or not study or largest.replicates_of(study) > own.replicates_of(study) or largest.fraction > own.fraction
    return f"PROFILE={LARGEST}" if more else ""


@cache
def _largest(data: Path) -> Profile:  # noqa: ARG001  the folder that the profile is read from
    return profiles.load_profile(LARGEST)


def _known(profile: Mapping[str, Any]) -> Profile | None:
    try:
        return Profile.model_validate(dict(profile))
    except (InputError, ValueError):
        return None
