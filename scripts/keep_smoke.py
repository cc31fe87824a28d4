"""Measure the smoke run that is kept with the tests, unless one of the same inputs is complete, and put it into ``tests/smoke`` in place of
the one there: ``PYTHONPATH=src .venv/bin/python scripts/keep_smoke.py``.
"""

from tierwise.core import paths
from tierwise.core.progress import say
from tierwise.pipeline import ReportRequest, export_run

if __name__ == "__main__":
    say(f"kept: {export_run(ReportRequest(profile='smoke'), paths.home() / 'tests' / 'smoke')}")
