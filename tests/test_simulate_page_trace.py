"""Traces in the ARC paper's format: what is read from them, and what is said of those that are broken."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tierwise.core.errors import InputError
from tierwise.simulate.page_trace import page_chunks, read_page_trace, simulate_trace


def _zstd(content: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(content, asbytes=True)
    return packed


TEXT = b"7 1 0 1\n100 3 0 2\n7 2 0 3\n"


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".zst", _zstd)])
def test_a_line_asks_for_its_blocks_one_after_the_other(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"trace.lis{suffix}"
    path.write_bytes(pack(TEXT))
    assert read_page_trace(path).tolist() == [7, 100, 101, 102, 7, 8]
    assert simulate_trace(path, 10) == {"requests": 6, "misses": 5, "hit_ratio": pytest.approx(1 / 6)}


@pytest.mark.parametrize("text", [TEXT[:-1], TEXT.replace(b"\n", b"\r\n"), TEXT.replace(b" ", b"\t "), b" " + TEXT + b"\n \n"])
def test_blanks_and_ends_of_lines_do_not_matter(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "trace"
    path.write_bytes(text)
    assert read_page_trace(path).tolist() == [7, 100, 101, 102, 7, 8]


def test_page_zero_is_a_page(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text("0 2 0 0\n0 1 0 0\n")
    assert simulate_trace(path, 2)["misses"] == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("7 1 0", "line 3 is '7 1 0': must have four fields, not 3"),
        ("x7 1 0 1", "line 3: start is 'x7': must be a whole number of zero or more"),
        ("7 1.5 0 1", "blocks is '1.5'"),
        ("7 0 0 1", "blocks is '0': must be from 1 to"),
        ("7 1 ? 1", "x is '?'"),
        ("7 1 0 1e3", "request is '1e3'"),
        ("9999999999999999 1 0 1", "start is '9999999999999999': .* at most 15 digits"),
        ("7,1,0,1", "must have four fields, not 1"),
        ("7 1 0 \x0c1", "request is '\\\\x0c1'"),
        ("7 1 0 ²", "request is "),
    ],
)
def test_a_malformed_line_is_named_with_its_rule(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "broken.lis"
    path.write_text(f"7 1 0 1\n\n{line}\nworse\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"broken.lis.*{said}"):
        read_page_trace(path)


def test_a_file_that_is_absent_empty_or_cut_off_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.lis: no such file"):
        read_page_trace(tmp_path / "absent.lis")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_page_trace(tmp_path)
    (tmp_path / "empty.lis").write_text("\n\n")
    with pytest.raises(InputError, match=r"empty\.lis: holds no request"):
        read_page_trace(tmp_path / "empty.lis")
    for suffix in (".gz", ".bz2", ".zst"):
        (tmp_path / f"other.lis{suffix}").write_bytes(TEXT)
        with pytest.raises(InputError, match=r"other\.lis.*cannot be read"):
            read_page_trace(tmp_path / f"other.lis{suffix}")
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".zst", _zstd)):
        packed = pack(b"".join(b"%d 1 0 0\n" % page for page in range(5000)))
        (tmp_path / f"cut.lis{suffix}").write_bytes(packed[: len(packed) // 2])
        with pytest.raises(InputError, match=r"cut\.lis.*cannot be read"):
            read_page_trace(tmp_path / f"cut.lis{suffix}")


def test_a_file_is_read_in_parts_and_a_malformed_line_is_counted_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "long.lis"
    lines = [b"%d 2 0 0\n" % (page * 10**8) for page in range(2 * 10**6)]
    path.write_bytes(b"".join(lines))
    chunks = list(page_chunks(path))
    assert len(chunks) > 1
    assert np.array_equal(np.concatenate(chunks).reshape(-1, 2)[:, 0], np.arange(2 * 10**6) * 10**8)
    path.write_bytes(b"".join([*lines[:1_999_990], b"broken\n"]))
    with pytest.raises(InputError, match="line 1999991 is 'broken'"):
        list(page_chunks(path))
