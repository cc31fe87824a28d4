"""Recorded page sequences: what each query of a trial requested, in the order of issue; the last row, `end`, closes it."""

from typing import Any, Final

import polars as pl

from tierwise.timings.trial_files import TrialFiles, TrialKey

__all__ = ["END", "FOLDER", "TRACE", "TRACES", "TrialKey", "read_trace", "write_trace"]

FOLDER: Final = "traces"
END: Final = "end"

TRACE: Final[dict[str, Any]] = {
    "step": pl.Int32,  # of the trial, as in the raw rows
    "cache": pl.String,  # cold, hot, cross, none
    "operation": pl.String,  # read, write, flush; end: the query's last row
    "relation": pl.String,  # name as in pg_class, with its fork where that is not the main one; null at the end
    "tier": pl.String,  # where it lay while this was recorded; null at the end
    "relation_pages": pl.Int64,  # of 8 KiB, in the whole relation
    "page": pl.Int64,  # in the relation, over all its segments
    "size_bytes": pl.Int64,
    "address_bytes": pl.Int64,  # on the emulated device; null where none was
    "after": pl.Int32,  # number (from 0, within the query) of the request whose completion this one follows; null: the query's start
    "think_s": pl.Float64,  # from that completion to this issue: the host's time
    "intended_s": pl.Float32,  # service time of the device model; null where there was none
    "actual_s": pl.Float32,  # what it took, from issue to completion; null where the recorder disturbs times
    "traced_s": pl.Float32,  # what it took under strace, whose stops are in it; null where nothing was traced
}

TRACES: Final = TrialFiles(FOLDER, TRACE, by_replicate=False)
write_trace: Final = TRACES.write
read_trace: Final = TRACES.read
