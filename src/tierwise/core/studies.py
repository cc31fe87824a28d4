"""Which studies there are, from file names alone, so that the reading side never imports the measuring side."""

from importlib.resources import files


def names() -> list[str]:
    """Every study, by the name of its module in ``tierwise/studies``, in alphabetical order."""
    folder = files("tierwise") / "studies"
    if not folder.is_dir():
        return []
    stems = (entry.name.removesuffix(".py") for entry in folder.iterdir() if entry.name.endswith(".py"))
    return sorted(stem for stem in stems if not stem.startswith("_"))
