"""Units by name, so that no module writes 1024 * 1024."""

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

MB: Final = 10**6
GB: Final = 10**9

SECTOR_BYTES: Final = 512  # the smallest request to a disk
PAGE_BYTES: Final = 8 * KIB  # a page of PostgreSQL (BLCKSZ as every distribution builds it)


def human_bytes(size_bytes: float) -> str:
    """Return ``1536`` -> ``'1.5 KiB'``: for messages and progress, never for data."""
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def human_seconds(duration_s: float) -> str:
    """Return ``95`` -> ``'1:35'``, ``4000`` -> ``'1:06:40'``: for progress lines."""
    whole = max(0, round(duration_s))
    hours, rest = divmod(whole, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
