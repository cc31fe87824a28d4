"""The synthetic survey: an archive's tables, tied by its keys, with the light curves that its statistics describe."""

import re

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from support import shared
from tierwise.datasets import survey
from tierwise.datasets.archive_table import arrow_type
from tierwise.datasets.dataset import Dataset
from tierwise.datasets.survey.fields import EPOCHS, NO_INTEGER, VARIABLE_SHARE, light_curves

FRACTION, SEED = 0.01, 5
XML = ("realdata", "survey_schema", "ATLASDR1_Registration.xml")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    return survey.acquire(fraction=FRACTION, seed=SEED, folder=tmp_path_factory.mktemp("survey"))


@pytest.fixture(scope="module")
def archive(made: dict[str, Dataset]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, data in made.items():
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{data.parquet}'")
    return connection


def queried(archive: duckdb.DuckDBPyConnection, query: str) -> tuple[float, ...]:
    (row,) = archive.execute(query).fetchall()
    return tuple(row)


@pytest.mark.parametrize(
    ("ours", "theirs", "columns"),
    [
        ("Source", "atlasSource", 177),
        ("Detection", "atlasDetection", 151),
        ("Multiframe", "Multiframe", 74),
        ("MergeLog", "atlasMergeLog", 31),
    ],
)
def test_columns_and_types_are_the_archives(ours: str, theirs: str, columns: int) -> None:
    text = shared(*XML).read_text(encoding="utf-8").split(f"<table><name>{theirs}</name>")[1].split("</table>")[0]
    names = re.findall(r"<column><name>(\w+)</name>", text)
    kinds = {"long": 8, "int": 4, "float": 4, "double": 8, "char": 0}
    width = sum(kinds[kind] for kind in re.findall(r"<dataType[^>]*>(\w+)</dataType>", text))
    table = survey.load_tables()[ours]
    assert table.columns == names
    assert len(names) == columns
    sizes = {"bigint": 8, "integer": 4, "smallint": 4, "real": 4, "double precision": 8, "text": 0}
    assert sum(sizes[kind] for kind in table.types.values()) == width


@pytest.mark.parametrize("name", survey.NAMES)
def test_each_table_has_its_types_no_nulls_and_a_unique_key(
    made: dict[str, Dataset], archive: duckdb.DuckDBPyConnection, name: str
) -> None:
    table, schema = survey.load_tables()[name], pq.read_schema(made[name].parquet)
    assert {field.name: field.type for field in schema} == {column: arrow_type(kind) for column, kind in table.types.items()}
    assert len({column.lower() for column in table.types}) == len(table.types), "the server folds names to lower case"
    assert pl.read_parquet(made[name].parquet).null_count().sum_horizontal().item() == 0
    key = ", ".join(table.key)
    assert queried(archive, f"SELECT count(*) FROM (SELECT DISTINCT {key} FROM {name})") == (made[name].rows,)


def test_every_match_leads_to_its_detection(archive: duckdb.DuckDBPyConnection) -> None:
    matched, found, distance, wrong = queried(
        archive,
        f"""
        SELECT count(*) FILTER (b.seqNum <> {NO_INTEGER}), count(d.objID), max(abs(d.dec - s.dec)),
               count(*) FILTER (d.filterID <> m.filterID OR d.mjd <> m.mjdObs)
        FROM BestMatch b JOIN Source s USING (sourceID) JOIN Multiframe m USING (multiframeID)
        LEFT JOIN Detection d USING (multiframeID, extNum, seqNum)
        """,
    )
    assert matched == found > 40_000
    assert (distance, wrong) == (0.0, 0)


def test_sources_lead_to_the_detections_that_they_were_merged_from(archive: duckdb.DuckDBPyConnection) -> None:
    sources, found, apart = queried(
        archive,
        f"""
        SELECT count(*), count(d.objID), max(abs(d.aperMag3 - s.rAperMag3))
        FROM Source s JOIN MergeLog l USING (frameSetID)
        LEFT JOIN Detection d ON (d.multiframeID, d.extNum, d.seqNum) = (l.rmfID, l.reNum, s.rSeqNum)
        WHERE s.rSeqNum <> {NO_INTEGER}
        """,
    )
    assert sources == found > 600
    assert apart < 1e-4


def test_detections_lie_in_the_order_in_which_they_are_ingested(made: dict[str, Dataset]) -> None:
    rows = pl.read_parquet(made["Detection"].parquet, columns=["multiframeID", "extNum", "seqNum", "mjd"])
    assert rows.select("multiframeID", "extNum", "seqNum").equals(rows.select("multiframeID", "extNum", "seqNum").sort(pl.all()))
    assert rows["mjd"].is_sorted()


def test_the_statistics_are_those_of_the_light_curves(archive: duckdb.DuckDBPyConnection) -> None:
    worst = queried(
        archive,
        f"""
        WITH curve AS (
            SELECT b.sourceID, count(*) AS n, avg(d.aperMag3) AS mean, median(d.aperMag3) AS middle, stddev_samp(d.aperMag3) AS rms
            FROM BestMatch b JOIN Detection d USING (multiframeID, extNum, seqNum) WHERE d.filterID = 3 GROUP BY b.sourceID)
        SELECT max(abs(n - rnGoodObs)), max(abs(mean - rMeanMag)), max(abs(middle - rMedianMag)),
               max(abs(rms - rMagRms)) FILTER (n >= 5), count(*) FILTER (rnMissingObs + n <> {EPOCHS})
        FROM curve JOIN Variability USING (sourceID)
        """,
    )
    assert max(worst) < 1e-4


def test_variable_stars_are_found_and_constant_ones_are_not(archive: duckdb.DuckDBPyConnection) -> None:
    variable, least = queried(archive, "SELECT count(*), min(rIntRms / rExpRms) FROM Variability WHERE variableClass = 1")
    assert 1 <= variable <= VARIABLE_SHARE * 1000 + 1
    assert least > 3
    (most,) = queried(archive, "SELECT quantile_cont(rIntRms / rExpRms, 0.98) FROM Variability WHERE rnGoodObs >= 5")
    assert most < 1.5


def test_light_curves_are_periodic_and_each_kind_has_its_shape() -> None:
    rng = np.random.default_rng(SEED)
    mjd = np.linspace(55_000, 56_000, 20_001)
    curves = light_curves(30, mjd, np.full(len(mjd), 2), rng)
    pulsating, eclipsing, slow = curves[0::3], curves[1::3], curves[2::3]
    span = curves.max(axis=1) - curves.min(axis=1)
    assert (span > 0.1).all()
    assert (span < 2.1).all()
    assert np.abs(pulsating.mean(axis=1)).max() < 0.05
    assert (np.median(eclipsing, axis=1) < 0.02).all(), "out of eclipse most of the time"
    steps = np.abs(np.diff(slow, axis=1)).max(axis=1)
    assert (steps < 0.01).all(), "hardly any change in 72 minutes"
