"""The page's fonts: what WOFF holds is the font that ships, table by table, and a browser draws with it."""

import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing import browsing
from tierwise.core import paths
from tierwise.report.woff import compressed, write_woff

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FONTS = sorted((paths.home() / "report" / "theme" / "fonts").glob("*.otf"))


def listed(font: bytes) -> dict[bytes, tuple[int, bytes]]:
    """Name of each table of an OpenType font -> its checksum and what it holds."""
    (count,) = struct.unpack_from(">H", font, 4)
    entries = [struct.unpack_from(">4sIII", font, 12 + 16 * number) for number in range(count)]
    return {name: (checksum, font[begins : begins + length]) for name, checksum, begins, length in entries}


def unpacked(woff: bytes) -> dict[bytes, tuple[int, bytes]]:
    """Return the same of a WOFF font, by the lengths and places that it gives."""
    signature, _, length, count, reserved = struct.unpack_from(">4s4sIHH", woff)
    assert (signature, length, reserved) == (b"wOFF", len(woff), 0)
    found = {}
    for number in range(count):
        name, begins, packed, whole, checksum = struct.unpack_from(">4sIIII", woff, 44 + 20 * number)
        assert begins % 4 == 0
        held = woff[begins : begins + packed]
        found[name] = (checksum, held if packed == whole else zlib.decompress(held))
        assert len(found[name][1]) == whole
    return found


@pytest.mark.parametrize("path", FONTS, ids=lambda path: path.stem)
def test_every_table_of_a_font_comes_back_whole(path: Path) -> None:
    font = path.read_bytes()
    woff = compressed(font)
    assert unpacked(woff) == listed(font)
    assert len(woff) < 0.6 * len(font)
    assert struct.unpack_from(">I", woff, 16) == (len(font),), "the font that a browser makes of it is as long as it was"


def test_a_table_that_would_grow_stays_as_it_is() -> None:
    told = b"OTTO" + struct.pack(">HHHH", 1, 16, 0, 0) + struct.pack(">4sIII", b"cmap", 7, 28, 3) + b"abc"
    assert unpacked(compressed(told)) == {b"cmap": (7, b"abc")}


def test_a_browser_takes_it_for_the_font_that_it_is(chromium: "Browser", tmp_path: Path) -> None:
    for path in FONTS:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    write_woff(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.woff")) == ["Inter-Regular.woff", "Inter-SemiBold.woff"]
    faces = "".join(f'@font-face {{ font-family: {kind}; src: url("Inter-Regular.{kind}"); }}' for kind in ("otf", "woff"))
    lines = "".join(f'<span style="font: 40px {kind}, monospace">Illegal 0.933</span><br>' for kind in ("otf", "woff"))
    (tmp_path / "index.html").write_text(f"<style>{faces}</style>{lines}", encoding="utf-8")
    with browsing(chromium, "file:", 800, "light") as page:
        page.goto((tmp_path / "index.html").as_uri())
        page.evaluate("document.fonts.ready")
        assert page.evaluate("[...document.fonts].map((face) => face.status)") == ["loaded", "loaded"]
        font, woff = page.evaluate("[...document.querySelectorAll('span')].map((line) => line.getBoundingClientRect().width)")
        assert font == woff
