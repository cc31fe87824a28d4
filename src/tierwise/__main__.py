"""``python -m tierwise``."""

from tierwise.cli import main

main()
