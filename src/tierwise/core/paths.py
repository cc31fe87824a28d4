"""Where things are: below the checkout, or ``TIERWISE_HOME``; of an installed wheel, inputs are in the package."""

import os
from pathlib import Path
from typing import Final

from tierwise.core.errors import MissingError

_PACKAGE: Final = Path(__file__).resolve().parents[1]


def installed() -> bool:
    """Return whether the package stands alone, as a wheel has it, with ``data/`` inside and without a checkout."""
    return not os.environ.get("TIERWISE_HOME") and (_PACKAGE / "data").is_dir()


def home() -> Path:
    """Return the checkout: the folder that holds ``data/``, ``notebooks/`` and ``report/``; of a wheel the package, which has the first."""
    named = os.environ.get("TIERWISE_HOME")
    if named:
        return Path(named).resolve()
    return _PACKAGE if installed() else _PACKAGE.parents[1]


def need_checkout(what: str) -> None:
    if installed():
        remedy = "work in a clone of the repository, or set TIERWISE_HOME to the folder of a clone"
        raise MissingError("the checkout", why=f"{what} needs its notebooks and folders, which no wheel has", remedy=remedy)


def data() -> Path:
    return home() / "data"


def raw() -> Path:
    """Return one folder a run; a test or a reader moves it with ``TIERWISE_RAW``."""
    named = os.environ.get("TIERWISE_RAW")
    return Path(named).resolve() if named else data() / "raw"


def reference() -> Path:
    return data() / "reference"


def site() -> Path:
    """Return the folder of the built reports, which has one folder a version, and is moved with ``TIERWISE_SITE``."""
    named = os.environ.get("TIERWISE_SITE")
    return Path(named).resolve() if named else home() / "report" / "_site"


def short(path: Path) -> str:
    """Return `path` as a reader types it: relative to the checkout where it lies inside, so that no report shows a home."""
    try:
        return str(path.resolve().relative_to(home()))
    except ValueError:
        return path.name
