"""The numbers of the page on provenance."""

from statistics import median
from typing import Any

import polars as pl

from tierwise.analysis.machines import machine_effects
from tierwise.analysis.rejections import rejections
from tierwise.core.vocabulary import Evidence
from tierwise.report.estimates import least_most
from tierwise.report.exhibit_registry import find
from tierwise.report.reference import beside_reference, recoded
from tierwise.report.run import Run


def values(run: Run, pair: str = "") -> dict[str, Any]:
    live = [one for one in rejections(run.store) if one.evidence is not Evidence.SIMULATED]
    found = beside_reference(run)
    ratios = found.cells["ratio"].to_list() if found else []
    rates = find("tbl-clocks").rows(run, pair).frame.filter(what="rate")
    kept = rates.filter(pl.col("flags").list.len() == 0)["ratio"].to_list()
    return {
        "is_reference": run.is_reference,
        "run_note": run.manifest.note,
        "reference": f"{found.reference.name} ({found.reference.origin})" if found else None,
        "same_size": found.same_size if found else True,
        "recoded": len(recoded(run.manifest, found.reference.manifest)) if found else 0,
        "cells": len(ratios),
        "ratio": median(ratios) if ratios else None,
        **least_most("ratio", ratios),
        "claims": len(found.claims) if found else 0,
        "differing": len(found.differing) if found else 0,
        "observations": sum(one.observations for one in live),
        "rejected": sum(one.rejected for one in live),
        "machines": machine_effects(run.store, run.manifest.attempts),
        "rates": rates.height,
        "higher_rates": rates.filter(pl.col("ratio") > 1).height,
        "kept_most": max(kept) - 1 if kept and max(kept) > 1 else None,
    }
