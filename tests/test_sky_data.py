"""The sky: synthetic, as the real catalog is known to be, at any size, and the reader's own in every format, whose faults are named."""

import gzip
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from support import shared
from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.datasets import sky
from tierwise.datasets.archive_table import arrow_type
from tierwise.datasets.dataset import Dataset
from tierwise.datasets.sky import stars, synthetic
from tierwise.datasets.sky.columns import Form
from tierwise.datasets.sky.positions import bins_joined
from tierwise.datasets.sky.stars import load_facts
from tierwise.datasets.sky_coordinates import galactic, htm_ids, unit_vectors

FRACTION, SEED = 0.0005, 3
REAL = ("realdata", "twomass")

Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return sky.acquire("synthetic", fraction=FRACTION, seed=SEED, folder=tmp_path_factory.mktemp("sky"))


@pytest.fixture(scope="module")
def rows(made: Dataset) -> pl.DataFrame:
    return pl.read_parquet(made.parquet)


@pytest.fixture(scope="module")
def uncrowded() -> dict[str, stars.Photometry]:
    """200 thousand sources as they are in the fields of the facts, where nothing crowds them."""
    return stars.draw(np.zeros(200_000, dtype=np.float32), np.random.default_rng(SEED))


@pytest.fixture(scope="module")
def field() -> pl.DataFrame:
    flags = dict.fromkeys(("Qflg", "Rflg", "Bflg", "Cflg"), pl.String)
    return pl.read_csv(shared(*REAL, "ism_course_2mass_II246.csv"), schema_overrides=flags)


@pytest.fixture(scope="module")
def fields() -> pl.DataFrame:
    """Read the real field and a larger one, which are what the facts were distilled from."""
    shared(*REAL)
    one, other = runpy.run_path(str(paths.home() / "scripts" / "distil_sky.py"))["read_fields"]()
    both: pl.DataFrame = pl.concat([one, other.select(one.columns)])
    return both


def described() -> list[tuple[str, str]]:
    text = shared(*REAL, "wfau_twomass_metadoc_full.xml").read_text(encoding="utf-8")
    table = text.split('<Table ID="twomass_psc">')[1].split("</Table>")[0]
    return re.findall(r'<Column ID="twomass_psc\.(\w+)".*?<Datatype>(\w+)</Datatype>', table, re.DOTALL)


def test_the_columns_are_the_archives_and_the_releases_in_their_order() -> None:
    names = [name.lower() for name, _ in described()]
    assert sky.PSC.columns == names[4:], "the archive adds a unit vector and a triangle"


def test_the_types_hold_what_the_archive_describes() -> None:
    kinds = {"float": ("real", "double precision"), "double": ("double precision",), "int": ("smallint", "integer", "bigint")}
    kinds |= {"long": ("integer",), "dateTime": ("date",), "string": tuple(f"character({n})" for n in (1, 2, 3, 6, 17))}
    wrong = {name: kind for name, kind in described()[4:] if sky.PSC.types[name.lower()] not in kinds[kind]}
    assert wrong == {}


def test_the_parquet_has_the_tables_types(made: Dataset) -> None:
    schema = pq.read_schema(made.parquet)
    assert {name: schema.field(name).type for name in schema.names} == {name: arrow_type(kind) for name, kind in sky.PSC.types.items()}
    assert made.rows == round(470_992_970 * FRACTION)


def test_the_file_is_in_the_releases_order(made: Dataset, rows: pl.DataFrame) -> None:
    height = made.provenance["declination_bin_deg"]
    bins = np.floor((rows["dec"].to_numpy() + 90 + 1e-9) / height)
    assert (np.diff(bins) >= 0).all()
    assert ((np.diff(bins) > 0) | (np.diff(rows["ra"].to_numpy()) >= 0)).all()
    assert len(np.unique(bins)) == round(180 / height)
    assert height == pytest.approx(0.1 / np.sqrt(FRACTION), rel=0.2)
    assert bins_joined(1.0) == 1, "at full size the bins are the release's own"


def test_sources_stand_on_the_sky_as_the_publishers_say(rows: pl.DataFrame) -> None:
    shares = rows.select(plane=(pl.col("glat").abs() < 10).mean(), south=(pl.col("dec") < 0).mean()).row(0, named=True)
    assert shares["plane"] == pytest.approx(0.60, abs=0.02)
    assert shares["south"] == pytest.approx(0.617, abs=0.01)
    for fitted in load_facts().fitted_on:
        assert fitted["model"] == pytest.approx(fitted["published"], rel=0.12), fitted["what"]


def test_galactic_coordinates_are_those_of_the_position(rows: pl.DataFrame) -> None:
    """The galaxy's centre stands at 266.4051, -28.9362 (J2000); the real excerpt tells both positions of a source."""
    near = rows.filter((pl.col("ra") - 266.4051).abs() < 1, (pl.col("dec") + 28.9362).abs() < 1)
    assert near.height > 20
    lon = (near["glon"].to_numpy() + 180) % 360 - 180
    assert np.hypot(lon, near["glat"].to_numpy()).max() < 1.5
    lon_deg, lat_deg = galactic(np.array([10.015696]), np.array([10.099228]))
    assert (lon_deg[0], lat_deg[0]) == (pytest.approx(118.312, abs=0.001), pytest.approx(-52.670, abs=0.001))


def test_names_are_cut_off_positions(rows: pl.DataFrame) -> None:
    """A name is off by at most 0.1488 arcsec in right ascension and 0.0996 in declination, as the catalog's description warns."""
    some = rows.sample(1000, seed=1)
    names = some["designation"].to_list()
    ra = np.array([(int(name[:2]) + int(name[2:4]) / 60 + int(name[4:8]) / 360_000) * 15 for name in names])
    away = np.array([int(name[9:11]) + int(name[11:13]) / 60 + int(name[13:]) / 36_000 for name in names])
    sign = np.array([-1 if name[8] == "-" else 1 for name in names])
    cut = (some["ra"].to_numpy() - ra) * 3600
    assert -0.001 < cut.min() <= cut.max() < 0.151
    assert np.array_equal(sign, np.where(some["dec"].to_numpy() < 0, -1, 1))
    cut = (some["dec"].abs().to_numpy() - away) * 3600
    assert -0.001 < cut.min() <= cut.max() < 0.101


def test_keys_are_unique_and_what_is_missing_is_missing_together(rows: pl.DataFrame) -> None:
    assert rows["pts_key"].n_unique() == rows.height
    for place, band in enumerate("jhk"):
        limit = (rows["ph_qual"].str.slice(place, 1) == "U").to_numpy()
        assert 0.02 < limit.mean() < 0.08
        for what in ("cmsig", "msigcom", "snr", "psfchi", "m_stdap", "msig_stdap"):
            assert np.array_equal(rows[f"{band}_{what}"].is_null().to_numpy(), limit)
        assert rows[f"{band}_m"].null_count() == 0
    assert rows.filter(pl.col("dist_opt").is_null() != (pl.col("a") == "0")).is_empty()
    assert rows.filter(pl.col("ext_key").is_null() != (pl.col("gal_contam") == 0)).is_empty()


def test_magnitudes_and_colours_are_those_of_the_real_fields(uncrowded: dict[str, stars.Photometry], fields: pl.DataFrame) -> None:
    made = {band: drawn.magnitude for band, drawn in uncrowded.items()}
    real = {band: fields[band].to_numpy() for band in "jhk"}
    at = np.linspace(0.05, 0.95, 19)
    for one, two in (("j", None), ("h", None), ("k", None), ("j", "h"), ("h", "k"), ("j", "k")):
        quantiles = [np.quantile(values[one] - (values[two] if two else 0), at) for values in (made, real)]
        assert np.abs(quantiles[0] - quantiles[1]).max() < 0.1, (one, two)


def test_the_second_query_finds_as_much_as_in_the_real_fields(uncrowded: dict[str, stars.Photometry], fields: pl.DataFrame) -> None:
    def share(j: Array, h: Array, k: Array) -> float:
        return float(np.mean((j > 16) & (h > 15.6) & (h < 15.8) & (k > 15.1) & (k < 15.3)))

    real = share(*(fields[band].to_numpy() for band in "jhk"))
    assert real == pytest.approx(load_facts().magnitudes.second_query_share, rel=0.01)
    assert share(*(uncrowded[band].magnitude for band in "jhk")) == pytest.approx(real, rel=0.1)


@pytest.mark.parametrize("band", ["j", "h", "k"])
def test_errors_and_quality_are_those_of_the_real_field(uncrowded: dict[str, stars.Photometry], field: pl.DataFrame, band: str) -> None:
    drawn = uncrowded[band]
    real = field[f"e_{band.upper()}mag"].cast(pl.Float64, strict=False).drop_nulls().to_numpy()
    at = np.linspace(0.05, 0.95, 10)
    assert np.quantile(drawn.total[~drawn.limit], at) == pytest.approx(np.quantile(real, at), rel=0.15)
    letter = field["Qflg"].str.slice("jhk".index(band), 1).to_numpy()
    best = (drawn.corrected <= 0.10857) & ~drawn.limit
    assert best.mean() == pytest.approx(np.mean(letter == "A"), abs=0.05)
    assert drawn.limit.mean() == pytest.approx(np.mean(letter == "U"), abs=0.03)


def test_the_facts_are_what_the_script_distils_from_the_real_excerpts() -> None:
    shared(*REAL)
    committed = (paths.data() / "datasets" / "twomass.toml").read_text(encoding="utf-8")
    made = runpy.run_path(str(paths.home() / "scripts" / "distil_sky.py"))["text"]()
    numbers = [[float(word) for word in re.findall(r"-?\d+\.?\d*(?:e[+-]\d+)?", text)] for text in (made, committed)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.01, abs=0.002), "another processor rounds a fit's last digits otherwise"
    assert re.sub(r"[\d.e+-]+", "", made) == re.sub(r"[\d.e+-]+", "", committed)


def test_the_queries_are_those_that_the_source_prints() -> None:
    text = " ".join(shared("seeds", "003_b4bf1d9b1393ac7d.txt").read_text(encoding="utf-8").split())
    for name in sky.QUERY_NAMES:
        printed = sky.load_queries().queries[name].printed.where
        assert f"Select * From twomass_psc Where {printed} " in text, name


@pytest.mark.parametrize("name", sky.QUERY_NAMES)
@pytest.mark.parametrize("form", ["printed", "meant"])
def test_a_fraction_keeps_the_share_that_each_query_finds(rows: pl.DataFrame, name: str, form: Form) -> None:
    clause = sky.load_queries().queries[name].form(form)
    found = pl.SQLContext(twomass_psc=rows).execute(clause.statement, eager=True).height
    expected = clause.share * rows.height
    assert abs(found - expected) <= 5 * np.sqrt(expected + 1)


def test_places_are_in_exact_proportion_at_any_fraction() -> None:
    shares = []
    for fraction in (1e-4, 0.02, 1.0):
        counts = synthetic.plan(fraction, SEED).counts
        shares.append(counts.sum(axis=(0, 2))[240:242].sum() / counts.sum())
    assert shares[0] == pytest.approx(shares[2], rel=0.01)
    assert shares[1] == pytest.approx(shares[2], rel=0.001)


def test_a_position_lies_in_its_triangle_of_the_mesh(rows: pl.DataFrame) -> None:
    some = rows.sample(100, seed=1)
    vectors = unit_vectors(some["ra"].to_numpy(), some["dec"].to_numpy())
    for number, vector in zip(htm_ids(vectors), vectors.T, strict=True):
        assert np.linalg.norm(middle(int(number)) - vector) < 2e-6  # triangles of depth 20 are 0.3 arcsec wide


def middle(number: int) -> Array:
    """Return the middle of a triangle, named by two bits a level below one of eight roots, as the mesh's authors define it."""
    x, y, z = np.eye(3)
    roots = [(x, -z, y), (y, -z, -x), (-x, -z, -y), (-y, -z, x), (x, z, -y), (-y, z, -x), (-x, z, y), (y, z, x)]
    corners: tuple[Array, ...] = roots[(number >> 40) - 8]
    for shift in range(38, -1, -2):
        a, b, c = corners
        p, q, r = ((one + two) / np.linalg.norm(one + two) for one, two in ((b, c), (a, c), (a, b)))
        corners = ((a, r, q), (b, p, r), (c, q, p), (p, q, r))[(number >> shift) & 3]
    whole = np.sum(corners, axis=0)
    found: Array = whole / np.linalg.norm(whole)
    return found


EXCERPT = ("realdata", "twomass", "irsa_fp_psc_polygon.xml")


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return pl.read_parquet(sky.acquire("synthetic", fraction=1e-5, seed=2, folder=tmp_path_factory.mktemp("sky")).parquet)


def text(rows: pl.DataFrame, path: Path) -> None:
    """Write rows as the release does: no header, names filled up to 17 characters."""
    rows.with_columns(pl.col("designation").str.pad_end(17)).write_csv(path, separator="|", include_header=False, null_value="\\N")


def packed(rows: pl.DataFrame, path: Path) -> None:
    text(rows, path.with_suffix(".txt"))
    path.write_bytes(gzip.compress(path.with_suffix(".txt").read_bytes()))


def by_astropy(rows: pl.DataFrame, path: Path) -> None:
    import numpy as np
    from astropy.table import MaskedColumn, Table

    table = Table()
    for column in rows.with_columns(pl.col("date").cast(pl.String)):
        values = column.fill_null("" if column.dtype == pl.String else 0).to_numpy()
        table[column.name] = MaskedColumn(values.astype(str) if column.dtype == pl.String else values, mask=column.is_null().to_numpy())
        if values.dtype.kind == "i":
            table[column.name].fill_value = np.iinfo(values.dtype).min
    table.write(path, format="votable" if path.suffix == ".vot" else "fits")


def release_names(rows: pl.DataFrame, path: Path) -> None:
    rows.rename({"dec": "decl"}).write_parquet(path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("psc_xyz", text), ("psc_xyz.gz", packed), ("mine.vot", by_astropy), ("mine.fits", by_astropy), ("mine.parquet", release_names)],
    ids=["text", "packed text", "VOTable", "FITS", "Parquet"],
)
def test_every_format_gives_the_same_rows(
    tmp_path: Path, few: pl.DataFrame, name: str, write: Callable[[pl.DataFrame, Path], None]
) -> None:
    if write is by_astropy:
        few = few.head(300)  # it writes and reads VOTables slowly
    write(few, tmp_path / name)
    data = sky.acquire(f"file:{tmp_path / name}", fraction=1, seed=1, folder=tmp_path / "made")
    assert_frame_equal(pl.read_parquet(data.parquet), few)
    assert (data.rows, data.provenance["absent_columns"], data.provenance["source"]) == (few.height, [], f"file:{name}")


def test_a_real_answer_of_the_archive_is_read(tmp_path: Path) -> None:
    data = sky.acquire(f"file:{shared(*EXCERPT)}", fraction=1, seed=1, folder=tmp_path)
    rows = pl.read_parquet(data.parquet)
    assert rows.columns == sky.PSC.columns
    assert rows["designation"].to_list()[:2] == ["00400376+1005572", "00400744+1003470"]
    assert rows.select("j_m", "h_m", "k_m").row(0) == pytest.approx((15.237, 14.635, 14.481))
    assert rows.select("ph_qual", "ndet", "hemis", "scan").row(1) == ("BBC", "060606", "n", 64)
    assert rows["date"].cast(pl.String).unique().to_list() == ["2000-09-21"]
    assert rows["dist_opt"].null_count() == 2, "two of the seven have no optical counterpart"
    assert rows["pts_key"].to_list() == list(range(1, 8)), "the answer has no keys: its rows are counted"
    assert {"pts_key", "prox", "k_psfchi"} <= set(data.provenance["absent_columns"])


def test_a_file_without_positions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Orion_A_2mass\.fits: columns is \['Jmag', .*: the column ra is missing"):
        sky.acquire(f"file:{shared('realdata', 'twomass', 'Orion_A_2mass.fits')}", fraction=1, seed=1, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


BROKEN: list[tuple[str, str, str, str]] = [
    ("a field too few", "|\\N|", "|", r" line 3: number of fields is 59: 60 fields are needed"),
    ("no number", "|0|0|", "|0|zero|", r" line 3: .* is 'zero': not of type"),
    ("no position", "", "\\N|", r" line 3: ra: a value is needed"),
]


@pytest.mark.parametrize(("old", "new", "message"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_malformed_row_is_named_and_leaves_no_file(tmp_path: Path, few: pl.DataFrame, old: str, new: str, message: str) -> None:
    path = tmp_path / "psc_xyz"
    text(few.head(5), path)
    lines = path.read_text().splitlines()
    lines[2] = lines[2].replace(old, new, 1) if old else new + lines[2].split("|", 1)[1]
    path.write_text("\n".join([*lines, ""]))
    with pytest.raises(InputError, match=rf"psc_xyz.*{message}"):
        sky.acquire(f"file:{path}", fraction=1, seed=1, folder=tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "write"), [("psc_xyz.gz", packed), ("mine.vot", by_astropy), ("mine.fits", by_astropy), ("mine.parquet", release_names)]
)
@pytest.mark.parametrize("left", [0.0, 0.5])
def test_a_file_that_is_cut_off_is_refused(
    tmp_path: Path, few: pl.DataFrame, name: str, write: Callable[[pl.DataFrame, Path], None], left: float
) -> None:
    path = tmp_path / name
    write(few.head(300), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: round(len(whole) * left)])
    with pytest.raises(InputError, match=rf"{name}"):
        sky.acquire(f"file:{path}", fraction=1, seed=1, folder=tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []
