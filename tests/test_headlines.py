"""Ten headline numbers of the run that ships, recomputed from its Parquet rows by a script that uses nothing of tierwise."""

import ast
import runpy

from tierwise.core import paths
from tierwise.report.estimates import cell, estimates
from tierwise.report.formats import with_interval
from tierwise.report.run import Run
from tierwise.report.values import answer

SCRIPT = paths.home() / "scripts" / "recompute_headlines.py"


def test_ten_headline_numbers_are_equal_to_those_that_are_printed(reference: Run) -> None:
    found = runpy.run_path(str(SCRIPT))["headlines"](reference.folder)
    rows = answer.advised(reference).filter(whose=answer.SOURCE_PAIRS)
    printed = {key: cell(one) for key, one in estimates(rows, ["workload", "placement"], "speedup").items()}
    assert len(found) == 10
    assert {key: with_interval(*one) for key, one in found.items()} == {key: printed[key] for key in found}
    table = answer.advised_cells(rows)
    assert table is not None
    assert sum(with_interval(*one) in row[1] for one in found.values() for row in table.rows) >= 5, "the first page has them"


def test_the_script_imports_nothing_of_tierwise() -> None:
    tree = ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8")))
    names = {
        node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in tree
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert {name.partition(".")[0] for name in names} <= {"json", "sys", "pathlib", "numpy", "polars", "scipy"}
