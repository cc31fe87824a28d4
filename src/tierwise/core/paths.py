"""Where things are. Everything hangs on the checkout; a test or a reader moves it with ``TIERWISE_HOME``."""

import os
from pathlib import Path


def home() -> Path:
    """Return the checkout: the folder that holds ``data/``, ``notebooks/`` and ``report/``."""
    named = os.environ.get("TIERWISE_HOME")
    return Path(named).resolve() if named else Path(__file__).resolve().parents[3]


def data() -> Path:
    """Return inputs (in git) and outputs (``work``, ``raw``, ``external``; not in git)."""
    return home() / "data"


def raw() -> Path:
    """Return one folder a run; a test or a reader moves it with ``TIERWISE_RAW``."""
    named = os.environ.get("TIERWISE_RAW")
    return Path(named).resolve() if named else data() / "raw"


def reference() -> Path:
    """Return the run that ships with the checkout, below here as any run lies below `raw`."""
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
