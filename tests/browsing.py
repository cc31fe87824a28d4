"""Look at a built report in a headless browser."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE_MS: Final = 60_000
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OFFLINE: Final = ("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-background-networking")
DRAWN: Final = "[...document.querySelectorAll('.vl-chart')].every((place) => place.classList.contains('drawn'))"
TOO_WIDE: Final = "[...document.querySelectorAll('.vl-chart')].filter((at) => at.querySelector('svg.marks').scrollWidth > at.clientWidth)"

AXE: Final = "axe_playwright_python"  # the package that carries axe-core's script
SCROLLED: Final = """[...document.querySelectorAll('main *')].filter((at) => at.scrollWidth > at.clientWidth + 1
    && ['auto', 'scroll'].includes(getComputedStyle(at).overflowX)).map((at) => [at.closest('figure')?.id ?? at.tagName,
        Boolean(at.querySelector('table:not(.cards)')), at.tabIndex])"""
"""What scrolls sideways: where, whether it is a table that is no list of cards, and its place in the order of the tab key."""

ALIKE: Final = """() => {
    const seen = new Set(), looks = new Map([[null, '']]);
    const look = (at) => {
        if (!looks.has(at)) {
            const is = getComputedStyle(at);
            const own = [at.tagName, at.getAttribute('class'), is.color, is.fill, is.backgroundColor, is.backgroundImage, is.opacity,
                is.filter, is.mixBlendMode, is.textShadow, is.fontSize, is.fontWeight, is.position, is.display, is.visibility].join();
            looks.set(at, look(at.parentElement) + '/' + own);
        }
        return looks.get(at);
    };
    for (const at of document.querySelectorAll('body *')) {
        if (at.childElementCount) continue;
        if (seen.has(look(at))) at.dataset.alike = '';
        seen.add(look(at));
    }
}"""
"""Marks the texts that another one before them is like in tag, class, colours and type, and all around it in what is around that."""

Scheme = Literal["light", "dark"]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Write nothing: what the browser requested is looked at in its page."""


@contextmanager
def hosting(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium on PATH (Debian: chromium), so the page is not looked at")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox", *OFFLINE])
        yield browser
        browser.close()


@contextmanager
def browsing(chromium: "Browser", url: str, width_px: int, scheme: Scheme) -> Iterator["Page"]:
    """Provide a new page; anything on its console, or requested of another place than `url`, fails the test."""
    complaints: list[str] = []
    outside: list[str] = []
    page = chromium.new_page(viewport={"width": width_px, "height": 844}, color_scheme=scheme)
    page.set_default_timeout(PATIENCE_MS)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith((url, "data:", "blob:")) else outside.append(request.url))
    yield page
    page.close()
    assert (complaints, outside) == ([], [])


def look(page: "Page", url: str, width_px: int) -> int:
    page.goto(url)
    page.wait_for_function(DRAWN)
    charts = page.locator(".vl-chart").count()
    assert page.locator(".vl-chart svg.marks").count() == charts
    assert page.evaluate("document.documentElement.scrollWidth") <= width_px
    assert page.evaluate(TOO_WIDE) == []
    return charts


def recalculate(page: "Page", url: str) -> str:
    """Change the calculator's rate by keyboard, open its new address elsewhere, and return the command that it shows."""
    found = "JSON.parse(document.getElementById('calculator-answer').dataset.answer)"
    page.goto(url)
    before = page.evaluate(found)
    page.locator("[name='ram_gib']").focus()
    for key in ("Tab", "Control+A", *"25000"):
        page.keyboard.press(key)
    changed, address = page.evaluate(found), page.url
    page.goto("about:blank")
    page.goto(address)
    assert before != page.evaluate(found) == changed
    assert page.locator("#calculator-chart path").count() >= 2
    assert page.locator("[name='requests']").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
    return page.locator("#calculator-command").inner_text()


def hover(page: "Page") -> None:
    mark = page.locator("#fig-times .vl-chart svg.marks path[aria-roledescription='point']").first
    mark.scroll_into_view_if_needed()
    page.wait_for_timeout(1_000)  # the page scrolls smoothly, and a mark that moves away is not pointed at
    mark.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert "placement" in page.locator("#vg-tooltip-element").inner_text()


def violations(page: "Page", within: str = "html", *, every: bool = False) -> list[str]:
    """Return what axe-core finds `within` the page: rule, how often, first place; contrast once for `ALIKE` texts, or at `every` one."""
    if find_spec(AXE) is None:
        pytest.skip(f"{AXE} is not in this environment, so accessibility is not looked at (it is among the pins: make .venv/.ready)")
    # without its preloading: of a file, axe may not read style sheets again
    page.evaluate((files(AXE) / "axe.min.js").read_text(encoding="utf-8"))
    if not every:
        page.evaluate(ALIKE)
        page.evaluate("axe.configure({rules: [{id: 'color-contrast', selector: '*:not([data-alike])'}]})")
    found = json.loads(
        page.evaluate(
            "(within) => axe.run(within, {resultTypes: ['violations'], preload: false}).then((found) => JSON.stringify(found.violations))",
            within,
        )
    )
    return [f"{one['id']} ({len(one['nodes'])}): {one['nodes'][0]['target']}" for one in found]
