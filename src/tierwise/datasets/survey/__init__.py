"""The multi-epoch survey of the second battery: sources observed again and again, in tables as the archives of UKIDSS and VISTA have
them.
"""

from functools import partial
from pathlib import Path

from tierwise.datasets.dataset import Dataset, cached
from tierwise.datasets.survey.schema import NAMES, load_tables, tables_sha256
from tierwise.datasets.survey.synthetic import SOURCES, VERSION, Survey

__all__ = ["NAMES", "SOURCES", "acquire", "load_tables"]


def acquire(*, fraction: float, seed: int, folder: Path) -> dict[str, Dataset]:
    """Make each table as one Parquet file in `folder`, and return them by name, in the order of `NAMES`; what is there, whole and of the
    same request is used again.

    `fraction` of `SOURCES` are observed, with `seed`.
    """
    survey = Survey(fraction, seed)
    request = {"source": "synthetic", "fraction": fraction, "seed": seed, "generator_version": VERSION, "tables_sha256": tables_sha256()}
    return {
        name: cached(
            f"survey {name}",
            folder / f"survey-{fraction:g}-seed{seed}-{name.lower()}.parquet",
            {**request, "table": name},
            partial(survey.write, name),
        )
        for name in NAMES
    }
