"""Write ``data/plan/intervals.toml`` anew from the reference run: ``PYTHONPATH=src .venv/bin/python scripts/record_intervals.py``.

``make reference`` does so too.
"""

from tierwise.analysis.runs import REFERENCE, find_run
from tierwise.pipeline import record_intervals

if __name__ == "__main__":
    record_intervals(find_run(REFERENCE))
