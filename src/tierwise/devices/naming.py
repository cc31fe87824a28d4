"""What a device is called: its file, the part of that after its maker, and what a volume is to have."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tierwise.core import paths
from tierwise.core.errors import InputError, suggesting
from tierwise.core.toml import input_file
from tierwise.devices.parameter import UNITS

AMOUNTS: Final = ("size", "frequency", "rate")  # what a volume's name may state, by what its unit measures

_AMOUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z/]+)")
_UNITS: Final = {unit.casefold(): measured for unit, measured in UNITS.items()}
_REMEDY: Final = "such as gp3:500GiB,6000IOPS,250MiB/s@m7i.large, any part of which may be absent"


@dataclass(frozen=True)
class Named:
    """A name that was understood: the file's `stem`, the amounts of the volume in base units, and the instance it hangs on."""

    text: str
    stem: str
    amounts: Mapping[str, float]
    instance: str | None

    @property
    def path(self) -> Path:
        place = input_file("devices", self.stem)
        if not place.exists():
            remedy = suggesting(self.stem, [*short_names(), *stems()], f"name one of: {', '.join(stems()) or 'none'}")
            raise InputError(paths.short(place), rule="no such file", remedy=remedy)
        return place

    @property
    def provider(self) -> str:
        return self.stem.partition("-")[0]


def named(name: str) -> Named:
    """Return `name` as a file of ``data/devices`` (in full, or what follows the maker: ``gp3``), with the amounts of a volume."""
    place, _, instance = name.partition("@")
    short, colon, amounts = place.partition(":")
    return Named(name, _stem(short), dict(_amount(name, text) for text in amounts.split(",")) if colon else {}, instance or None)


def stems() -> list[str]:
    return sorted(path.stem for path in (paths.data() / "devices").glob("*.toml"))


def short_names() -> list[str]:
    """Return what follows the maker in the name of a device, where no other device has the same."""
    counted = Counter(stem.partition("-")[2] for stem in stems())
    return sorted(name for name, times in counted.items() if times == 1 and name)


def _stem(name: str) -> str:
    if input_file("devices", name).exists():
        return name
    found = [stem for stem in stems() if stem.partition("-")[2] == name]
    if len(found) > 1:
        raise InputError("device", value=name, rule="is the short name of several devices", remedy=f"one of {', '.join(found)}")
    return found[0] if found else name


def _amount(name: str, text: str) -> tuple[str, float]:
    found = _AMOUNT.fullmatch(text.strip())
    dimension, worth = _UNITS.get(found[2].casefold(), ("", 0.0)) if found else ("", 0.0)
    if found is None or dimension not in AMOUNTS:
        units = ", ".join(unit for unit, (measures, _) in UNITS.items() if measures in AMOUNTS)
        raise InputError("device", value=name, rule=f"{text!r} must be a number and one of {units}", remedy=_REMEDY)
    return dimension, float(found[1]) * worth
