"""Traces of every format that is read: which pages they ask for, what is left out, and what is said of files that are none of these."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from support import said_as_json, shared
from tierwise.core.compiled import Ints
from tierwise.core.errors import InputError
from tierwise.simulate.page_cache import replay
from tierwise.simulate.page_trace import TraceOptions, TraceReader, simulate_trace
from tierwise.simulate.trace_fields import Fields, Numbering
from tierwise.simulate.trace_formats import NAMES, ORACLE_RECORD, PAGE_BITS


def _zstd(content: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(content, asbytes=True)
    return packed


TEXT = b"7 1 0 1\n100 3 0 2\n7 2 0 3\n"


def _two_parts(content: bytes) -> bytes:
    return b"\x50\x2a\x4d\x18\x04\0\0\0skip" + _zstd(content[:9]) + _zstd(content[9:])


PACKED: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, bz2.compress, lzma.compress, _zstd, _two_parts]
Pages = list[tuple[int, int, str]]  # device, page, and r or w


def read_page_trace(path: Path, options: TraceOptions | None = None) -> Ints:
    return np.concatenate([chunk.pages for chunk in TraceReader(path, options or TraceOptions()).chunks()])


def requested(path: Path, **options: Any) -> Pages:
    chunks = list(TraceReader(path, TraceOptions(**options)).chunks())
    pages, writes = (np.concatenate([chunk[part] for chunk in chunks]).tolist() for part in (0, 1))
    return [(page >> PAGE_BITS, page & (1 << PAGE_BITS) - 1, "rw"[write]) for page, write in zip(pages, writes, strict=True)]


def reads(*pages: int, device: int = 0) -> Pages:
    return [(device, page, "r") for page in pages]


def writes(*pages: int, device: int = 0) -> Pages:
    return [(device, page, "w") for page in pages]


BLKPARSE_LEFT = {"other_event": 2, "summary": 2}
CASES: list[tuple[str, dict[str, Any], Pages, dict[str, int]]] = [
    ("fio_v2.log", {}, reads(0, 2, 3) + writes(0), {"no_data": 3, "header": 1}),
    ("fio_v2.log", {"page_bytes": 4096}, reads(0, 1, 5, 6) + writes(0, 1), {"no_data": 3, "header": 1}),
    ("fio_v3.log", {}, reads(0, 1, 1) + writes(0) + reads(0, 1), {"no_data": 3, "header": 1}),
    ("fio_v3.log", {"reads_only": True}, reads(0, 1, 1, 0, 1), {"no_data": 3, "header": 1, "write": 1}),
    ("msr.csv", {"device": "1"}, reads(8) + writes(8) + reads(10, 11, 8), {"other_device": 1}),
    ("msr.csv", {}, reads(8) + writes(8) + reads(10, 11) + reads(8, device=1) + reads(8), {}),
    ("blkparse.txt", {}, reads(256) + writes(256) + reads(512, 513), BLKPARSE_LEFT),
    ("blkparse.txt", {"event": "C"}, reads(256), {"other_event": 4, "summary": 2}),
    ("arc_comment.lis", {}, reads(0, 1, 8, 0, 1), {"comment": 1}),
]


@pytest.mark.parametrize(("name", "options", "pages", "left_out"), CASES)
def test_the_traces_of_others_are_read_as_they_mean_it(name: str, options: dict[str, Any], pages: Pages, left_out: dict[str, int]) -> None:
    path = shared("cases", "traces", name)
    assert requested(path, **options) == pages
    found = simulate_trace(path, 2, options=TraceOptions(**options))
    assert (found["requests"], found["left_out"]) == (len(pages), left_out)
    assert found["writes"] == sum(kind == "w" for _, _, kind in pages)


def test_four_numbers_a_line_are_no_trace_unless_their_request_counts_up() -> None:
    for name in ("lrb_one_feature.tr", "diskstats_numbers.txt"):
        with pytest.raises(InputError, match=rf"{name}.* no trace .*{', '.join(NAMES)}"):
            simulate_trace(shared("cases", "traces", name), 2)
    found = said_as_json("simulate", "trace", str(shared("cases", "traces", "lrb_one_feature.tr")), "--input-format", "lrb", "--pages", "2")
    assert (found["format"], found["rows"], found["requests"], found["misses"]) == ("LRB", 5, 5, 3)


def oracle(identities: list[int], times: list[int]) -> bytes:
    records = np.zeros(len(identities), ORACLE_RECORD)
    records["id"], records["time"], records["size"], records["next"] = identities, times, 70, -2
    return records.tobytes()


MINE: list[tuple[str, bytes, dict[str, Any], Pages | int]] = [
    ("Alibaba CSV", b"419,W,8192,16384,1577808144360767\n725,R,40960,4096,1577808144360768\n", {}, writes(1, 2) + reads(5, device=1)),
    ("Alibaba CSV", b"device_id,opcode,offset,length,timestamp\n3,R,0,0,5\n3,R,1,1,6\n", {"page_bytes": 512}, reads(0)),
    (
        "SPC",
        b"0,16,8192,w,0.000000\n1,20941264,8192,R,0.551706\n0,15,1024,r,1e-05,extra\n",
        {},
        writes(1) + reads(1308829, device=1) + reads(0, 1),
    ),
    ("MSR Cambridge CSV", b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n1,a,0,read,8191,2,3\n", {}, reads(0, 1)),
    ("Twitter CSV", b"0,abc:1,13,100,7,get,0\n0,x y,13,100,7,set,600\n1,abc:1,13,100,7,gets,0\n", {}, 2),
    ("LRB", b"1 18446744073709551615 120\n2 64 1\n2 18446744073709551615 120\n", {"input_format": "lrb"}, 2),
    ("libCacheSim oracleGeneral", oracle([2**63 - 1, 5, -1, 5], [0, 0, 1, 9]), {}, 3),
    ("ARC", b" 7\t1 0 1\r\n\r\n7 2 0 3", {}, reads(7, 7, 8)),
    (
        "fio iolog version 2",
        b"fio version 2 iolog\n/a add\n/b add\n/b read 0 1\n/a trim 0 4096\n/a write 0 1\n",
        {"device": "/a"},
        writes(0),
    ),
]


@pytest.mark.parametrize("pack", PACKED)
@pytest.mark.parametrize("mine", MINE)
def test_a_format_is_known_by_its_content_however_it_is_packed_and_called(
    tmp_path: Path, mine: tuple[str, bytes, dict[str, Any], Pages | int], pack: Callable[[bytes], bytes]
) -> None:
    title, content, options, expected = mine
    path = tmp_path / "any.name"
    path.write_bytes(pack(content))
    if isinstance(expected, int):  # objects: what counts is which are the same
        assert len(np.unique(read_page_trace(path, TraceOptions(**options)))) == expected
        with pytest.raises(InputError, match=r"--page-bytes is 4096: .*an object is one page"):
            simulate_trace(path, 2, options=TraceOptions(**options, page_bytes=4096))
    else:
        assert requested(path, **options) == expected
    assert simulate_trace(path, 100, options=TraceOptions(**options))["format"] == title


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
def test_text_of_other_encodings_is_read(tmp_path: Path, mark: bytes) -> None:
    path = tmp_path / "trace"
    path.write_bytes(mark + TEXT.replace(b"\n", b"\r\n") if mark else TEXT.decode().encode("utf-16"))
    assert read_page_trace(path).tolist() == [7, 100, 101, 102, 7, 8]


def test_our_own_files_are_read_with_a_relation_as_a_device(tmp_path: Path) -> None:
    rows = {"relation": ["t", "i", "t", None], "page": [3, 0, 4, None], "size_bytes": [8192, 16384, 4096, 0]}
    pl.DataFrame(rows).write_parquet(tmp_path / "reads")
    assert requested(tmp_path / "reads") == reads(3) + reads(0, 1, device=1) + reads(4)
    pl.DataFrame(rows | {"operation": ["read", "write", "flush", "end"]}).write_parquet(tmp_path / "trace")
    assert requested(tmp_path / "trace") == reads(3) + writes(0, 1, device=1)
    assert requested(tmp_path / "trace", device="i") == writes(0, 1, device=1)
    with pytest.raises(InputError, match="--device is 'x': the trace has t, i"):
        requested(tmp_path / "trace", device="x")
    pl.DataFrame({"page": [1]}).write_parquet(tmp_path / "other")
    with pytest.raises(InputError, match="the column relation is missing"):
        requested(tmp_path / "other")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("7 1 0", "line 3 is '7 1 0': ARC has 4 fields, not 3"),
        ("x7 1 0 1", "line 3: start is 'x7': ARC needs a whole number"),
        ("7 1.5 0 1", "blocks is '1.5'"),
        ("7 0 0 1", "blocks is '0': .* of 1 or more"),
        ("7 1 ? 1", "x is '?'"),
        ("7 1 0 1e3", "request is '1e3'"),
        ("9999999999999999999 1 0 1", "start is '9999999999999999999'"),
        ("1099511627776 1 0 1", r"line 3: start and size is \(1099511627776, 1\): .*before page 2\^40"),
        ("7 131073 0 1", r"at most 1073741824 bytes"),
        ("7 1 0 \x1b1", r"request is '\\x1b1'"),
    ],
)
def test_a_malformed_line_is_named_with_its_rule(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "broken.lis"
    path.write_text(f"7 1 0 1\n\n{line}\n8 1 0 2\n9 1 0 3\n7 1 0 4\n", encoding="utf-8")
    with pytest.raises(InputError, match=said.replace("?", r"\?")) as caught:
        read_page_trace(path)
    assert str(caught.value).isprintable()


MSR = b"1,vol,1,Read,65536,8192,3\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no request"),
        (b"\n \n", "holds no request"),
        (MSR * 3 + b"1,vol,1,Read,655", "line 4 is '1,vol,1,Read,655'"),
        (MSR * 3 + b"1,vol,1,Erase,0,1,3\n", "line 4 .*no such operation"),
        (MSR * 3 + b"1,vol,1,Read,9007199254740993,1,3\n", "line 4: start and size"),
        (MSR * 3 + b"1,vol,1,Read,0,1073741825,3\n", "line 4: start and size"),
        (b"fio version 2 iolog\n/a read 0\n", "line 2: length is ''"),
        (b"fio version 4 iolog\n/a read 0 1\n", "no trace"),
        (oracle([1, 2, 3], [0, 1, 2])[:-5], "no trace"),
        (oracle([1, 2, 3], [2, 1, 0]), "no trace"),
        (np.random.default_rng(1).bytes(24 * 50), "no trace"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "no trace"),
        (b"PAR1" + bytes(100) + b"PAR1", "cannot be read"),
        (b"PK\x03\x04nothing", "cannot be read"),
        *((pack(TEXT * 1000)[:-20], "cannot be read") for pack in PACKED[1:]),
    ],
    ids=lambda value: value if isinstance(value, str) else "content",  # gzip's bytes have the time in them
)
def test_what_is_no_trace_or_cut_short_is_refused_in_one_printable_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"file.*{said}") as caught:
        simulate_trace(path, 10)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"input_format": "ark"}, "--input-format is 'ark': .*did you mean arc"),
        ({"page_bytes": 511}, "--page-bytes is 511"),
        ({"event": "X"}, "--event is 'X'"),
        ({"event": "C"}, "--event is 'C': .*blkparse"),
    ],
)
def test_an_option_that_cannot_be_is_named(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    (tmp_path / "trace").write_bytes(TEXT)
    with pytest.raises(InputError, match=said):
        simulate_trace(tmp_path / "trace", 10, options=TraceOptions(**options))


def test_a_file_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.lis: no such file"):
        read_page_trace(tmp_path / "absent.lis")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_page_trace(tmp_path)


def test_a_file_is_read_in_parts_and_a_malformed_line_is_counted_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "long.lis"
    lines = [b"%d 2 0 0\n" % (page * 10**5) for page in range(2 * 10**6)]
    path.write_bytes(b"".join(lines))
    chunks = [chunk.pages for chunk in TraceReader(path).chunks()]
    assert len(chunks) > 1
    assert np.array_equal(np.concatenate(chunks).reshape(-1, 2)[:, 0], np.arange(2 * 10**6) * 10**5)
    path.write_bytes(b"".join([*lines[:1_999_990], b"broken\n"]))
    with pytest.raises(InputError, match="line 1999991 is 'broken'"):
        read_page_trace(path)


def test_keys_are_numbered_in_the_order_of_first_sight() -> None:
    keys = np.random.default_rng(3).integers(-(2**63), 2**63 - 1, 30_000).repeat(2)
    numbering = Numbering()
    found = np.concatenate([numbering.of(part) for part in np.array_split(keys, 5)])
    assert np.array_equal(found, np.arange(30_000).repeat(2))
    assert numbering.count == 30_000


def test_blanks_around_commas_and_empty_fields_keep_their_columns() -> None:
    fields = Fields(np.frombuffer(b"a, b ,,c\n , \n\n", np.uint8), commas=True, most=3)
    assert fields.counts.tolist() == [4, 2, 0, 0]
    assert [fields.word(column, 0) for column in range(3)] == ["a", "b", ""]


def test_objects_are_replayed_as_what_they_are(tmp_path: Path) -> None:
    pages = np.random.default_rng(5).zipf(1.3, 20_000) % 900
    (tmp_path / "twitter").write_text("".join(f"{at},key{page},3,9,1,get,0\n" for at, page in enumerate(pages)))
    assert simulate_trace(tmp_path / "twitter", 50)["misses"] == replay(pages.astype(np.int64), 50).misses
