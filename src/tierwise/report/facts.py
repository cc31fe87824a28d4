"""What a version of the report says and what it rests on, as data that two versions are compared by."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tierwise.analysis.judging import ClaimVerdict
from tierwise.core import paths
from tierwise.core.files import write_whole
from tierwise.core.text_files import read_json
from tierwise.core.toml import Strict, validate
from tierwise.report import notebooks
from tierwise.report.display import MARKUP, ROWS_MIME, VEGA_MIME
from tierwise.report.formats import DASH, count
from tierwise.report.run import Run
from tierwise.report.site import FACTS
from tierwise.report.words import found
from tierwise.timings.manifest import Manifest

RULE: Final = re.compile(r"[|:\- ]+")
ANSWERS: Final = "show-answer"
"""The chapter whose sentences are the report's answers and recommendations."""


class Facts(Strict):
    """One version: `inputs` and `statements`, each kind -> name -> what it was or says."""

    version: str
    run_id: str
    inputs: dict[str, dict[str, str]]
    statements: dict[str, dict[str, str]]

    def save(self, folder: Path) -> None:
        write_whole(folder / FACTS, self.model_dump_json(indent=1) + "\n")


def load_facts(folder: Path) -> Facts:
    """Return the facts of the version in `folder`; `InputError` where the file breaks the schema."""
    return validate(read_json(folder / FACTS, f"{folder.name}/{FACTS}"), Facts, where=f"{folder.name}/{FACTS}")


def gather(run: Run, executed: Iterable[Path], version: str, code: str) -> Facts:
    """Return what the executed notebooks and the verdicts of `run` say; `code` is the version of the code that renders."""
    shown = [(path.stem, part) for path in executed for part in notebooks.read(path) if part.from_rows]
    labelled = {part.label: part.body for _, part in shown if part.label}
    return Facts(
        version=version,
        run_id=run.run_id,
        inputs=_inputs(run.manifest, code),
        statements={
            "claims": {claim.id: _claim(claim) for claim in run.verdicts},
            "figures": {label: _figure(body) for label, body in labelled.items() if VEGA_MIME in body},
            "tables": {label: _table(body["text/markdown"]) for label, body in labelled.items() if VEGA_MIME not in body},
            "answers": {part.cell: plain(part.text) for stem, part in shown if stem == ANSWERS and not part.label},
        },
    )


def plain(markdown: str) -> str:
    lines = (line.lstrip("#- ") for line in markdown.splitlines() if not line.startswith(":::"))
    return " ".join(MARKUP.sub("", " ".join(lines)).split())


def _claim(claim: ClaimVerdict) -> str:
    return claim.verdict_text if (shown := found(claim)) == DASH else f"{claim.verdict_text}: {shown}"


def _figure(body: Mapping[str, Any]) -> str:
    """Return from how many rows it is drawn, and a digest over all that is in the drawing (rows, means, bands), in any order."""
    drawn = sorted(json.dumps(row, sort_keys=True) for one in body[VEGA_MIME].get("datasets", {}).values() for row in one)
    return f"{count(len(body[ROWS_MIME].splitlines()) - 1)} rows, {_digest(drawn)}"


def _table(markdown: str) -> str:
    """Return how many lines it has, and a digest over their text, but for the line that only says how wide its columns are."""
    lines = [line for line in markdown.splitlines() if not RULE.fullmatch(line)]
    return f"{count(len(lines))} lines, {_digest(lines)}"


def _inputs(manifest: Manifest, code: str) -> dict[str, dict[str, str]]:
    host = {name: str(value) for name, value in manifest.host.model_dump().items()}
    return {
        "code": {
            "report": code,
            **{
                f"measuring code of {study}": _digest(f"{name} {digest}" for name, digest in sorted(one.code.items()))
                for study, one in manifest.fingerprints.items()
            },
            **{f"server of {record.name}": record.server_version for record in manifest.studies},
            **manifest.packages,
        },
        "data": {
            "profile": str(manifest.profile.get("name")),
            "seed": str(manifest.seed),
            **{name: "; ".join(texts) for name, texts in _data(manifest).items()},
        },
        "prices": _files("prices"),
        "tiers": {pair: _digest([json.dumps(spec, sort_keys=True)]) for pair, spec in manifest.pairs.items()},
        "host": host,
        "claims": _files("published"),
    }


def _data(manifest: Manifest) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for record in manifest.datasets:
        digest = [] if record.sha256 is None else [record.sha256[:12]]
        texts.setdefault(record.name, []).append(", ".join([manifest.source_of(record), f"{record.rows:,} rows", *digest]))
    return texts


def _files(folder: str) -> dict[str, str]:
    found = sorted(path for path in (paths.data() / folder).glob("**/*") if path.is_file())
    return {str(path.relative_to(paths.data())): _digest([path.read_text(encoding="utf-8")]) for path in found}


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
