"""One look for every chart: one shipped font; colours are in `colours`, the rest in ``theme.json``."""

import json
from importlib.resources import files
from typing import Final

import altair as alt
import vl_convert

from tierwise.core import paths

VEGA_LITE: Final = "6.4"  # version that vl-convert carries for static charts and for the page: Altair's own


def font_folder() -> str:
    return str(paths.home() / "report" / "theme" / "fonts")


vl_convert.register_font_directory(font_folder())


@alt.theme.register("tierwise", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    config: alt.theme.ThemeConfig = json.loads((files("tierwise.report") / "theme.json").read_text(encoding="utf-8"))
    return config
