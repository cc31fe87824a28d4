"""Distil ``data/datasets/survey.toml``: ``PYTHONPATH=src .venv/bin/python scripts/distil_survey.py``.

Needs ../shared: names and types of the archive's columns stand in its registration, BestMatch in a transcript of its schema browser.
"""

import re
from itertools import groupby

from tierwise.core import paths
from tierwise.core.files import write_whole

FOLDER = paths.home().parent / "shared" / "realdata" / "survey_schema"
TARGET = paths.data() / "datasets" / "survey.toml"
TABLES = {"Source": "atlasSource", "Detection": "atlasDetection", "Multiframe": "Multiframe", "MergeLog": "atlasMergeLog"}
SQL = {"long": "bigint", "int": "integer", "float": "real", "double": "double precision", "char": "text"}
TRANSCRIBED = {"bigint": "bigint", "int": "integer", "real": "real", "tinyint": "smallint"}
STATISTICS = (
    ("integer", "nGoodObs nFlagObs nMissingObs"),
    ("real", "MeanMag MedianMag MagMAD MagRms minMag maxMag skewness ExpRms IntRms ChiSqPd ProbVar"),
    ("integer", "VarClass"),
)
BANDS = "ugriz"


def registered(name: str) -> list[tuple[str, str]]:
    """(type, column) of a table in the registration; the number of a detector is a tinyint there, as in the transcript of BestMatch."""
    text = (FOLDER / "ATLASDR1_Registration.xml").read_text(encoding="utf-8").split(f"<table><name>{name}</name>")[1].split("</table>")[0]
    found = re.findall(r"<column><name>(\w+)</name>.*?<dataType[^>]*>(\w+)</dataType></column>", text)
    return [("smallint" if column == "extNum" else SQL[kind], column) for column, kind in found]


def best_match() -> list[tuple[str, str]]:
    """(type, column) of BestMatch."""
    text = (FOLDER / "BestMatch_columns_TRANSCRIBED.txt").read_text(encoding="utf-8").split("sourceID bigint 8")[1].split("; total")[0]
    found = re.findall(r"(\w+) (bigint|int|real|tinyint) \d", "sourceID bigint 8" + text)
    return [(TRANSCRIBED[kind], column) for column, kind in found]


def variability() -> list[tuple[str, str]]:
    """(type, column) of Variability: no description was at hand but that of its class."""
    by_band = [(kind, f"{band}{column}") for band in BANDS for kind, columns in STATISTICS for column in columns.split()]
    return [("bigint", "sourceID"), ("integer", "cuEventID"), ("bigint", "frameSetID"), *by_band, ("integer", "variableClass")]


def text() -> str:
    """Return the whole file."""
    tables = {ours: registered(theirs) for ours, theirs in TABLES.items()} | {"BestMatch": best_match(), "Variability": variability()}
    lines = [
        "# The tables of a multi-epoch survey archive, made by scripts/distil_survey.py: runs of columns of one type, in the archive's "
        "order."
    ]
    for name, columns in tables.items():
        lines += ["", f"[{name}]", f'source = "{_source(name)}"', "columns = ["]
        runs = ((kind, " ".join(column for _, column in run)) for kind, run in groupby(columns, key=lambda column: column[0]))
        lines += [f'    ["{kind}", "{names}"],' for kind, names in runs]
        lines += ["]"]
    return "\n".join([*lines, ""])


def _source(name: str) -> str:
    if name == "Variability":
        return "assumed: statistics by band in the manner of the archives; only variableClass and its rule were read"
    if name == "BestMatch":
        return "realdata/survey_schema/BestMatch_columns_TRANSCRIBED.txt: vikingSourceXDetectionBestMatch"
    return f"realdata/survey_schema/ATLASDR1_Registration.xml: {TABLES[name]}"


if __name__ == "__main__":
    write_whole(TARGET, text())
    print(f"{paths.short(TARGET)}: {TARGET.stat().st_size:,} bytes")
