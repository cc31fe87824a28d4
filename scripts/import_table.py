"""An import-linter contract that reads like the design's table: each of our packages, and which others it may import.

Import-linter's own contracts would need the table turned round (who may import whom), so that a new package would touch many of them.
"""

from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class ImportTable(Contract):
    """`table` holds a line ``package: other other`` for each child of `root`; ``*`` stands for every other."""

    root = fields.StringField()
    table = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 - import-linter's signature
        """Every direct import between two children of `root` stands in the table, and the table names exactly the children."""
        root = f"{self.root}."
        rows = (line.partition(":") for line in cast("list[str]", self.table))
        allowed = {package.strip(): set(others.split()) for package, _, others in rows}
        children = {child.removeprefix(root) for child in graph.find_children(root[:-1])}
        wrong = [f"{package} has no line in the table" for package in sorted(children - allowed.keys())]
        wrong += [f"{package} has a line in the table and does not exist" for package in sorted(allowed.keys() - children)]
        for package in sorted(children & allowed.keys()):
            for module in sorted({root + package} | graph.find_descendants(root + package)):
                for imported in sorted(graph.find_modules_directly_imported_by(module)):
                    other = imported.removeprefix(root).split(".")[0]
                    if imported.startswith(root) and other != package and not allowed[package] & {other, "*"}:
                        lines = [str(detail["line_number"]) for detail in graph.get_import_details(importer=module, imported=imported)]
                        wrong.append(f"{module} imports {imported} (line {', '.join(lines)}); {package} may not import {other}")
        return ContractCheck(kept=not wrong, metadata={"wrong": wrong})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """One line for each import or package that breaks the table."""
        for line in check.metadata["wrong"]:
            output.print_error(line)
