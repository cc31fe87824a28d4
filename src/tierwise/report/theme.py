"""One look for every chart: colours that colour-blind readers tell apart, one shipped font."""

from typing import Final

import altair as alt
import vl_convert

from tierwise.core import paths

FONT: Final = "Inter"
INK: Final = "#1f2328"
QUIET: Final = "#59636e"
GRID: Final = "#dfe3e8"
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
    axis: alt.theme.AxisConfigKwds = {
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": QUIET,
        "gridColor": GRID,
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
        "titlePadding": 8,
        "labelLimit": 220,
    }
    return {
        "config": {
            "font": FONT,
            "background": "transparent",
            "view": {"stroke": None},
            "axis": axis,
            "axisX": {"labelFlush": False},
            "axisY": {"grid": False},
            "legend": {
                "orient": "top",
                "labelFontSize": 11,
                "titleFontSize": 11,
                "titleFontWeight": "normal",
                "labelColor": INK,
                "titleColor": QUIET,
                "symbolSize": 70,
                "labelLimit": 260,
            },
            "title": {"anchor": "start", "fontSize": 12, "fontWeight": 600, "color": INK, "offset": 8},
            "header": {"labelFontSize": 11, "labelColor": INK, "titleColor": QUIET},
            "text": {"font": FONT, "fontSize": 11, "color": INK},
            "rule": {"color": MARK},
        }
    }
