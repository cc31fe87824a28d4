"""The multi-epoch survey of the second battery: sources observed again and again, in tables as UKIDSS's and VISTA's archives have them."""

from functools import partial
from pathlib import Path

from tierwise.core import paths
from tierwise.datasets.dataset import Dataset, cached, sha256_of
from tierwise.datasets.survey.schema import NAMES, load_tables
from tierwise.datasets.survey.synthetic import SOURCES, VERSION, Survey

__all__ = ["NAMES", "SOURCES", "acquire", "load_tables"]


def acquire(*, fraction: float, seed: int, folder: Path) -> dict[str, Dataset]:
    """Make each table of the survey of `fraction` of `SOURCES` as a Parquet file in `folder`, or use it again; in order of `NAMES`."""
    survey = Survey(fraction, seed)
    digest = sha256_of(paths.data() / "datasets" / "survey.toml")
    request = {"source": "synthetic", "fraction": fraction, "seed": seed, "generator_version": VERSION, "tables_sha256": digest}
    return {
        name: cached(
            f"survey {name}",
            folder / f"survey-{fraction:g}-seed{seed}-{name.lower()}.parquet",
            {**request, "table": name},
            partial(survey.write, name),
        )
        for name in NAMES
    }
