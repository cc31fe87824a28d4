"""The effect of a parameter by runs: the study is measured again with the same seed, in a checkout where the parameter is moved."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tierwise.analysis.judging import ClaimVerdict
from tierwise.analysis.runs import newest_run
from tierwise.analysis.views import open_views
from tierwise.core.errors import TierwiseError, with_remedy
from tierwise.core.files import make_folder, scratch_folder
from tierwise.pipeline import runs_in
from tierwise.report.run import Run
from tierwise.sensitivity.bands import Move
from tierwise.sensitivity.moved_checkout import make_checkout
from tierwise.sensitivity.quantities import Values, values_of
from tierwise.timings.manifest import load_manifest

LOG: Final = ".measured.log"


def measured(study: str, profile: str, seed: int, raw: Path, home: Path | None = None) -> Path:
    """Measure `study` into the folder `raw`, in the checkout `home` or in this one, and return the folder of the run."""
    make_folder(raw)
    variables = {"TIERWISE_RAW": str(raw), **({"TIERWISE_HOME": str(home)} if home else {})}
    command = [sys.executable, "-m", "tierwise", "run", study, "--profile", profile, "--seed", str(seed), "--yes"]
    with (raw / LOG).open("w") as log:
        done = subprocess.run(command, env={**os.environ, **variables}, stdout=log, stderr=log, check=False)
    run_id = newest_run(raw)
    if done.returncode or run_id is None:
        last = (raw / LOG).read_text(encoding="utf-8").strip().splitlines()[-1:]
        raise TierwiseError(with_remedy(f"{study} could not be measured: {''.join(last)}"))
    return raw / run_id


def moved_values(
    move: Move, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict], *, profile: str, seed: int, within: Path
) -> tuple[Move, Values] | None:
    """Return the values with `move`, as far as the model takes it, from a run below the folder `within`, which is gone at the end."""
    with scratch_folder(".moved-", within=within) as scratch:
        taken = make_checkout(scratch / "home", move)
        if taken is None:
            return None
        folder = measured(study, profile, seed, scratch / "raw", scratch / "home")
        return taken, values_in(folder, study, pair, verdicts)


def values_in(folder: Path, study: str, pair: str, verdicts: Mapping[str, ClaimVerdict]) -> Values:
    with runs_in(folder.parent), open_views(folder.parent, folder.name) as connection:
        return values_of(Run(load_manifest(folder), connection, ()), study, pair, verdicts)
