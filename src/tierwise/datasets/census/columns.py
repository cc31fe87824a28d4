"""The table of the census study, as its source declares it, and the figures that the source gives of it.

The census study: Ben Martin, "SSD vs. SATA benchmarks, round 2: Server applications" (its CREATE TABLE, its counts, its pg_class listing).
"""

from typing import Final, Literal, NamedTuple

import pyarrow as pa

from tierwise.core.data_sets import whole_rows
from tierwise.datasets.archive_table import arrow_type


class Column(NamedTuple):
    name: str
    type: Literal["boolean", "integer", "text"]


ROWS: Final = whole_rows("census")  # tuples in the source's table
STATES: Final = {"FL": 12, "PR": 72, "NV": 32}  # the places of birth that the source queries, by their code in POB (the census study)
COUNTS: Final = {"FL": 54_445, "PR": 10_134, "NV": 4_722}  # tuples that each query finds in `ROWS` (the census study)

# In the source's order, as runs of one type.
_RUNS: tuple[tuple[Literal["boolean", "integer", "text"], str], ...] = (
    ("boolean", "AAGE AANCSTR1 AANCSTR2 AAUGMENT ABIRTHPL ACITIZEN ACLASS ADEPART ADISABL1 ADISABL2 AENGLISH AFERTIL"),
    ("integer", "AGE"),
    ("boolean", "AHISPAN AHOUR89 AHOURS AIMMIGR"),
    ("integer", "AINCOME1 AINCOME2 AINCOME3 AINCOME4 AINCOME5 AINCOME6 AINCOME7 AINCOME8"),
    ("boolean", "AINDUSTR ALABOR ALANG1 ALANG2 ALSTWRK AMARITAL AMEANS AMIGSTAT AMOBLLIM AMOBLTY"),
    ("integer", "ANCSTRY1 ANCSTRY2"),
    ("boolean", "AOCCUP APERCARE APOWST ARACE ARELAT1 ARIDERS ASCHOOL ASERVPER ASEX ATRAVTME"),
    ("integer", "AVAIL"),
    ("boolean", "AVETS1 AWKS89 AWORK89 AYEARSCH AYRSSERV"),
    ("integer", "CITIZEN CLASS DEPART DISABL1 DISABL2 ENGLISH"),
    ("boolean", "FEB55"),
    ("integer", "FERTIL HISPANIC HOUR89 HOURS IMMIGR INCOME1 INCOME2 INCOME3 INCOME4 INCOME5 INCOME6 INCOME7 INCOME8 INDUSTRY"),
    ("boolean", "KOREAN"),
    ("integer", "LANG1 LANG2 LOOKING MARITAL"),
    ("boolean", "MAY75880"),
    ("integer", "MEANS MIGPUMA MIGSTATE MILITARY MOBILITY MOBILLIM OCCUP"),
    ("boolean", "OTHRSERV"),
    ("integer", "PERSCARE POB POVERTY POWPUMA POWSTATE PWGT1 RACE RAGECHLD REARNING"),
    ("text", "RECTYPE"),
    ("integer", "RELAT1 RELAT2 REMPLPAR RIDERS RLABOR"),
    ("boolean", "ROWNCHLD"),
    ("integer", "RPINCOME RPOB"),
    ("boolean", "RRELCHLD"),
    ("integer", "RSPOUSE RVETSERV SCHOOL"),
    ("boolean", "SEPT80"),
    ("text", "SERIALNO"),
    ("integer", "SEX SUBFAM1 SUBFAM2 TMPABSNT TRAVTIME"),
    ("boolean", "VIETNAM"),
    ("integer", "WEEK89 WORK89 WORKLWK"),
    ("boolean", "WWII"),
    ("integer", "YEARSCH YEARWRK YRSSERV"),
)

COLUMNS: Final[tuple[Column, ...]] = tuple(Column(name, kind) for kind, names in _RUNS for name in names.split())
"""The 125 columns of the raw file, in the source's order and types (``int`` there is ``integer`` here)."""

SCHEMA: Final = pa.schema([pa.field(column.name, arrow_type(column.type), nullable=False) for column in COLUMNS])
"""The Parquet file: the 125 columns; the table's row id is the server's own (``serial``) and not in it."""


def ddl(table: str) -> str:
    """Return the source's CREATE TABLE for `table` (a name, or ``schema.name``), its names unquoted: in the server they are lower-case."""
    columns = ",\n".join(f"    {column.name} {column.type}" for column in COLUMNS)
    return f"CREATE TABLE {table} (\n{columns},\n    id serial PRIMARY KEY\n)"
