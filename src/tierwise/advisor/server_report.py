"""The advice for a watched server as one HTML file, made by a notebook."""

from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

import nbformat
from nbconvert import HTMLExporter
from papermill.execute import execute_notebook
from traitlets.config import Config

from tierwise import __version__
from tierwise.advisor.server_advice import ServerAdvice
from tierwise.advisor.server_page import PageData
from tierwise.core.activity import Activity
from tierwise.core.errors import InputError
from tierwise.core.files import digest, make_folder, scratch_folder, write_whole
from tierwise.core.text_template import render

NOTEBOOK: Final = "advisor/text/server_report.ipynb"
FILE: Final = "report.html"


def write_report(advice: ServerAdvice, activity: Activity, sources: Sequence[Path], folder: Path) -> Path:
    """Run the notebook, and write `folder`/report.html, which loads nothing, if there is not a report already."""
    target = folder / FILE
    if target.exists() or (folder.exists() and not folder.is_dir()):
        raise InputError("--report", value=str(target), rule="must not exist", remedy="name a new folder")
    known = {name: getattr(activity, name) for name in ("began", "watched_s", "samples", "sessions", "timed", "unknown")}
    names, digests = ", ".join(source.name for source in sources), ", ".join(map(digest, sources))
    data = PageData(advice=advice, version=__version__, file=names, digest=digests, **known)
    with scratch_folder("tierwise-report-") as scratch, as_file(files("tierwise") / NOTEBOOK) as notebook:
        (scratch / "data.json").write_text(data.model_dump_json(), encoding="utf-8")
        execute_notebook(
            notebook,
            scratch / "executed.ipynb",
            parameters={"DATA": str(scratch / "data.json")},
            kernel_name="python3",
            progress_bar=False,
            config=Config({"KernelManager": {"transport": "ipc", "connection_file": f"{scratch}/kernel.json"}}),
            extra_arguments=["--log-level=CRITICAL"],
        )
        executed = nbformat.read(scratch / "executed.ipynb", as_version=4)
    exporter = HTMLExporter(template_name="basic", exclude_input=True, exclude_output_prompt=True, exclude_anchor_links=True)
    body, _ = exporter.from_notebook_node(executed)
    make_folder(folder)
    write_whole(target, render("advisor/text/server_page.html", body=body, title=f"PostgreSQL {advice.server}, {advice.database}") + "\n")
    return target
