"""Colours of every chart, which colour-blind readers tell apart."""

from typing import Final

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
