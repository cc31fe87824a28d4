"""One look for every chart: colours that colour-blind readers tell apart, one shipped font; the rest is in ``theme.json``."""

import json
from importlib.resources import files
from typing import Final

import altair as alt
import vl_convert

from tierwise.core import paths

QUIET: Final = "#59636e"
MARK: Final = "#6b7480"
"""A neutral that stands out on white and on the page's dark ground."""

# Okabe and Ito (2008), https://jfly.uni-koeln.de/color/
VERMILLION: Final = "#d55e00"
BLUE: Final = "#0072b2"
GREEN: Final = "#009e73"
ORANGE: Final = "#e69f00"

PLACEMENTS: Final = {"disks": VERMILLION, "indexes": BLUE, "tables": ORANGE, "everything": GREEN}
"""What lies on the SSD -> its colour, in the whole report; a single table has that of the tables."""

VEGA_LITE: Final = "6.4"  # version that vl-convert carries for static charts and for the page: Altair's own


def font_folder() -> str:
    return str(paths.home() / "report" / "theme" / "fonts")


vl_convert.register_font_directory(font_folder())


@alt.theme.register("tierwise", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    config: alt.theme.ThemeConfig = json.loads((files("tierwise.report") / "theme.json").read_text(encoding="utf-8"))
    return config
