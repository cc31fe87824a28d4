"""The smoke run that is kept with the tests, whatever run ships: small, whole, of every study. ``scripts/keep_smoke.py`` measures it."""

from pathlib import Path
from typing import Final

RAW: Final = Path(__file__).parent / "smoke"  # the folder of that one run, as ``data/raw`` is that of a reader's

(FOLDER,) = RAW.glob("[!.]*/")
