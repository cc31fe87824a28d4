"""The numbers of the latency study's text."""

from typing import Any, Final

import polars as pl

from tierwise.analysis.causes import Cause
from tierwise.analysis.rules import Verdict
from tierwise.core.units import KIB
from tierwise.report.exhibit_registry import find
from tierwise.report.run import Run, source_pair
from tierwise.report.text_template import Value
from tierwise.report.values.validation import MODELS, load
from tierwise.report.words import PUBLISHED, variants
from tierwise.studies.read_latency.reading import histograms
from tierwise.studies.read_latency.reading.histograms import SOURCE_ID, SQL, STUDY

SHARE, TENFOLD, SPIKE = "L2", "L4", "L6"  # the claims on the SSD's reads of 250 µs, on the ratio of the means, and on the sub-spike
SSD_READ: Final = "read of 8 KiB from the SSD"  # the stated rate of it
LOGGED_S: Final = 250e-6  # the source's read of the SSD


def values(run: Run, pair: str = "") -> dict[str, Value]:
    pair = pair or source_pair(SOURCE_ID)
    here = run.query(SQL["counted"], {"pair": pair, **histograms.MEMORY}).filter(tablespace="ssd")
    ssd, disks, system = (histograms.published().filter(tablespace=space) for space in ("ssd", "hdd", "aux"))
    waiting = dict(run.query(SQL["outstanding"], {"pair": pair}).rows())
    memory = dict(run.query(SQL["memory"], {"pair": pair}).rows())
    slow = ssd.filter(pl.col("bucket") >= histograms.SLOW_BUCKET)
    return {
        "answered": here.height > 0,
        **_claims(run),
        **_manifest(run, pair),
        **run.query(SQL["windows"], {"pair": pair}).row(0, named=True),
        **run.query(SQL["virtual"], {"pair": pair}).row(0, named=True),
        "tenfold_published": histograms.mean_us(disks) / histograms.mean_us(ssd),
        "tenfold_system": histograms.mean_us(system) / histograms.mean_us(ssd),
        "share_published": _share(ssd, histograms.SSD_BUCKET),
        "share_here": _share(here, histograms.SSD_BUCKET),
        "spike_published": _share(ssd, *histograms.SPIKE_BUCKETS),
        **{f"memory_{space}": memory.get(space) for space in ("ssd", "hdd")},
        "slow_reads": histograms.total(slow),
        "slow_time": histograms.total(slow) * histograms.mean_us(slow) / (histograms.total(ssd) * histograms.mean_us(ssd)),
        "waiting_ssd": waiting.get("ssd"),
        "waiting_disks": waiting.get("hdd"),
        "depth": next((line["depth"] for line in load(*MODELS)["x25e_reads"] if line["one_drive_s"] >= LOGGED_S), None),
    }


def _claims(run: Run) -> dict[str, Value]:
    """Return what the claims say, by the variant that decides: the lead of the SSD with its interval, and which claims hold."""
    lead, share = run.verdict(TENFOLD), run.verdict(SHARE)
    known = lead is not None and lead.low is not None
    plain = {one.variant: one.estimate for one in variants(lead)} if lead else {}
    replayed = {one.verdict for one in variants(share) if one.variant != PUBLISHED} if share else set()
    by_rows = {name: one.cases[0].verdict for name in (SHARE, SPIKE) if (one := run.verdict(name)) and one.cases}
    factor = dict(find("tbl-rates").rows(run, "").frame.select("name", "factor").rows()).get(SSD_READ)
    return {
        **{f"lead_{name}": getattr(lead, name) if known else None for name in ("estimate", "low", "high")},
        "lead_evidence": str(lead.evidence) if lead and known else None,
        "lead_pages": plain.get("replayed"),
        "lead_records": plain.get("records"),
        "tenfold": lead.verdict.mark if lead else None,
        "model_missed": lead is not None and lead.cause is Cause.STATED_RATE,
        "ssd_off": 1 / factor if factor else None,
        "bucket_missed": by_rows.get(SHARE) is Verdict.CONTRADICTED and Verdict.CONFIRMED not in replayed,
        "spike_seen": by_rows.get(SPIKE) is Verdict.CONFIRMED,
        "spike_never": by_rows.get(SPIKE) is Verdict.CONTRADICTED,
    }


def _manifest(run: Run, pair: str) -> dict[str, Value]:
    record = run.record(STUDY, pair)
    facts: dict[str, Any] = record.facts if record else {}
    lone = {line["size_bytes"] // KIB: line["latency_s"] for line in facts.get("lone_reads", [])}
    fitting = [kib for kib, latency_s in lone.items() if 2**histograms.SSD_BUCKET <= latency_s * 1e9 < 2 ** (histograms.SSD_BUCKET + 1)]
    assumed: dict[str, Any] = facts.get("assumed", {})
    sessions, sizes, changing = (assumed.get(name, {}) for name in ("sessions", "table_mib", "changing"))
    return {
        "alone_s": lone.get(8),
        "transfer_s": lone[16] - lone[8] if {8, 16} <= lone.keys() else None,
        "fitting_kib": min(fitting, default=None),
        "sessions": sum(sessions.values()) or None,
        **{f"sessions_{space}": sessions.get(space) for space in ("hdd", "ssd")},
        **{f"size_{space}_mib": round(sizes[space]) if space in sizes else None for space in ("hdd", "ssd")},
        **{f"changing_{space}": round(1 / changing[space]) if changing.get(space) else None for space in ("hdd", "ssd")},
        "span_gib": assumed.get("span_gib"),
        "buffers_mib": round(assumed["shared_buffers_mib"]) if assumed else None,
    }


def _share(histogram: pl.DataFrame, low: int, high: int | None = None) -> float | None:
    return histograms.held(histogram, low, high) / histograms.total(histogram) if histogram.height else None
