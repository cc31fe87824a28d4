"""Run the command line as ``python -m tierwise``."""

from tierwise.cli import main

main()
