"""A font as a page loads it: its OpenType tables, compressed one by one (W3C, WOFF File Format 1.0)."""

import struct
import zlib
from pathlib import Path
from typing import Final

SIGNATURE: Final = b"wOFF"
HEADER: Final = struct.Struct(">4s4sIHHIHHIIIII")
"""Signature, flavour, length, tables, 0, length of the font, version (two numbers), and of metadata and private data, which are none,
places and lengths."""
OPENTYPE: Final = struct.Struct(">4sHHHH")
LISTED: Final = struct.Struct(">4sIII")
"""What OpenType lists of a table: name, checksum, place, length."""
ENTRY: Final = struct.Struct(">4sIIII")
"""What WOFF lists of it: name, place, compressed length, length, checksum."""


def write_woff(folder: Path) -> None:
    """Write a ``.woff`` beside each upright OpenType font in `folder`: pages show no other, and Typst reads the font itself."""
    for font in sorted(folder.glob("*.otf")):
        if not font.stem.endswith("-Italic"):
            font.with_suffix(".woff").write_bytes(compressed(font.read_bytes()))


def compressed(font: bytes) -> bytes:
    """Return the OpenType `font` as WOFF, from which a browser makes the same font again."""
    flavour, count, *_ = OPENTYPE.unpack_from(font)
    tables = [LISTED.unpack_from(font, OPENTYPE.size + number * LISTED.size) for number in range(count)]
    place = HEADER.size + count * ENTRY.size
    entries, contents = [], []
    for name, checksum, begins, length in tables:
        raw = font[begins : begins + length]
        packed = min(zlib.compress(raw, 9), raw, key=len)  # one that would not become smaller stays as it is
        entries.append(ENTRY.pack(name, place, len(packed), length, checksum))
        contents.append(_padded(packed))
        place += len(contents[-1])
    whole = OPENTYPE.size + count * LISTED.size + sum(len(_padded(bytes(length))) for *_, length in tables)
    header = HEADER.pack(SIGNATURE, flavour, place, count, 0, whole, 1, 0, 0, 0, 0, 0, 0)
    return b"".join((header, *entries, *contents))


def _padded(table: bytes) -> bytes:
    return table + bytes(-len(table) % 4)
