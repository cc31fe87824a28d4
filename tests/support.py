"""What several tests need and what is no fixture."""

from pathlib import Path

import pytest

from tierwise.core import paths


def shared(*parts: str) -> Path:
    """Return a file of the shared real excerpts; skips, saying why, where they are absent."""
    path = paths.home().parent.joinpath("shared", *parts)
    if not path.exists():
        pytest.skip(f"the real excerpts are not on this machine: no {'/'.join(('../shared', *parts))}")
    return path
