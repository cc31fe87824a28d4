"""Write how far runs lie apart to data/published/between-runs.toml, from a merged run: `scripts/distil_between.py RUN`."""

import sys
from pathlib import Path

from tierwise.analysis.between_runs import FILE, spreads_of
from tierwise.analysis.claims import load_claims
from tierwise.analysis.runs import find_run
from tierwise.analysis.views import open_views
from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.report.run import source_pair
from tierwise.timings.manifest import load_manifest

LEAST = 1e-6
"""A smaller standard deviation is that of equal runs."""


def main() -> None:
    folder: Path = find_run(sys.argv[1])
    run = load_manifest(folder)
    connection = open_views(folder.parent, folder.name)
    lines = [
        "# Standard deviations of the logarithms of runs' geometric means, by claim and case,",
        f"# by scripts/distil_between.py from a run that `tierwise merge` made of runs at {run.code_version}.",
        f"runs = {[one.run_id for one in run.merged]}".replace("'", '"'),
        f'profile = "{run.profile["name"]}"',
        "",
    ]
    for claim in load_claims().claims:
        found = {case: spread for case, spread in spreads_of(connection, claim, source_pair(claim.source)) if spread > LEAST}
        if found:
            lines += [f"[spreads.{claim.id}]", *(f'"{case}" = {spread:.3g}' for case, spread in found.items()), ""]
    write_whole(paths.data() / "published" / FILE, "\n".join(lines))


if __name__ == "__main__":
    main()
