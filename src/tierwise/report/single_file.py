"""A built report as one HTML file that opens from a disk: its styles, fonts and scripts, and every file that its figures give away."""

import base64
import json
import re
from pathlib import Path
from typing import Final

from tierwise.core import paths
from tierwise.core.errors import InputError
from tierwise.core.files import scratch_folder, write_whole
from tierwise.report import render, versions
from tierwise.report.site import LATEST
from tierwise.report.text_template import fill

STYLE: Final = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
SCRIPT: Final = re.compile(r'<script src="([^"]+)"></script>')
PICTURE: Final = re.compile(r'<img src="([^":]+\.svg)"')
FONT: Final = re.compile(r'url\("?([^")]+\.woff2)"?\)')
STILL: Final = re.compile(r"<noscript>.*?</noscript>", re.DOTALL)
LINK: Final = re.compile(r'<a\s+href="([^":#]+)"')
PDF: Final = re.compile(r'<a\s+href="[^"]+\.pdf">(.*?)</a>', re.DOTALL)


def write_one(target: Path, version: str = LATEST) -> Path:
    """Write the report `version` into the one file `target`, whole or not at all, from the version's own executed notebooks."""
    if target.suffix != ".html" or target.exists():
        raise InputError("ONE", value=str(target), rule="must be a new file whose name ends in .html", remedy="name another one")
    found = versions.find(version)
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(".tierwise-one-", within=target.parent) as scratch:
        write_whole(target, inlined(render.plain_page(found, paths.site() / found.version, scratch)))
    return target


def inlined(site: Path) -> str:
    """Return the plain engine's single page in the folder `site` with all that it loads or links to, but for the PDFs."""
    page = PDF.sub(r"\1", STILL.sub("", (site / "index.html").read_text(encoding="utf-8")))
    linked = dict.fromkeys(path for path in LINK.findall(page) if (site / path).is_file())
    files = json.dumps({path: (site / path).read_text(encoding="utf-8") for path in linked}, ensure_ascii=False).replace("<", "\\u003c")
    page = PICTURE.sub(lambda found: f'<img src="data:image/svg+xml;base64,{_base64(site / found[1])}"', page)
    page = page.replace("</body>", f"{fill('files.html', files=files)}</body>")
    page = STYLE.sub(lambda found: f"<style>\n{_style(site / found[1])}</style>", page)
    return SCRIPT.sub(lambda found: f"<script>\n{_script(site / found[1])}</script>", page)


def _style(path: Path) -> str:
    fonts = {name: _base64(path.parent / name) for name in FONT.findall(path.read_text(encoding="utf-8"))}
    return FONT.sub(lambda found: f'url("data:font/woff2;base64,{fonts[found[1]]}")', path.read_text(encoding="utf-8"))


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _script(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("</script", "<\\/script")
