"""Estimate what share of the catalog the survey's queries find: ``PYTHONPATH=src .venv/bin/python scripts/estimate_sky_queries.py``.

Writes ``data/datasets/twomass-queries.toml``. The clauses are counted on a synthetic catalog of several million sources; a share's
standard error is sqrt(share / sample_rows), what the model of the sky gets wrong comes on top (`fitted_on` and `assumed` of twomass.toml).
"""

from collections import Counter

import duckdb
import pyarrow as pa

from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.datasets.sky import synthetic

FRACTION, SEED = 0.02, 1
SOURCE = 'H: Mark Holliman, "Database deployment scenarios and performance on SSD arrays"; blanks before > and < as printed'
PHOTOMETRY = "(j_m>16) AND (h_m>15.6 AND h_m<15.8) AND (k_m>15.1 AND k_m<15.3)"
REST = "((k_psfchi>1) OR (k_psfchi<0.4)) AND (dist_opt<.3) AND (k_msig_stdap<1)"
DECS = "((dec> -47) AND (dec<-44)) OR ((dec> 120) AND (dec<123))"
CLAUSES = {
    "indexed": {
        "printed": f"((ra> 240) AND (ra<242)) OR ((ra> 120) AND (ra<122)) AND {DECS}",
        "meant": f"(((ra> 240) AND (ra<242)) OR ((ra> 120) AND (ra<122))) AND ({DECS})",
    },
    "non_indexed": {"printed": PHOTOMETRY, "meant": PHOTOMETRY},
    "mixed": {
        "printed": f"{PHOTOMETRY} AND ((ra> 230) AND (ra<241)) OR ((ra> 110) AND (ra<121)) AND {DECS} AND {REST}",
        "meant": f"{PHOTOMETRY} AND (((ra> 230) AND (ra<241)) OR ((ra> 110) AND (ra<121))) AND ({DECS}) AND {REST}",
    },
}


def counted() -> tuple[int, Counter[str]]:
    """Rows of the sample, and how many each clause finds."""
    rows, found = 0, Counter[str]()
    counts = ", ".join(f"count(*) FILTER (WHERE {where})" for forms in CLAUSES.values() for where in forms.values())
    names = [f"{name}.{form}" for name, forms in CLAUSES.items() for form in forms]
    with duckdb.connect() as connection:
        for batch in synthetic.batches(synthetic.plan(FRACTION, SEED)):
            connection.register("psc", pa.table(batch))
            rows += batch.num_rows
            found.update(dict(zip(names, connection.execute(f"SELECT {counts} FROM psc").fetchall()[0], strict=True)))
    return rows, found


def text() -> str:
    """Return the whole file."""
    rows, found = counted()
    lines = [
        "# The survey's three queries on twomass_psc, as printed and as evidently meant, and the share of the sources that each finds.",
        f"source = '{SOURCE}'",
        'estimated_by = "scripts/estimate_sky_queries.py, on a synthetic catalog"',
        f"sample_rows = {rows}",
    ]
    for name, forms in CLAUSES.items():
        for form, where in forms.items():
            share = found[f"{name}.{form}"] / rows
            lines += ["", f"[queries.{name}.{form}]", f'where = "{where}"', f"share = {share:.3e}"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    target = paths.data() / "datasets" / "twomass-queries.toml"
    write_whole(target, text())
    print(f"{paths.short(target)}: {target.stat().st_size:,} bytes")
