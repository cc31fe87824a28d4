"""Names of version 0.2 that are refused, each with what stands in its place (``docs/upgrade.md`` has them all)."""

import sys
from typing import Any, Final

from tierwise.core.errors import InputError

KEYS: Final = {"blocks": "replicates", "arms": "io_modes", "arm": "variant and io_mode", "substrate": "evidence"}
"""Key of a TOML file -> the key that stands in its place."""
PARAMETERS: Final = {"BLOCK": "REPLICATE", "SOURCES": "RUN_ID, or CENSUS and SKY of the environment"}
"""Parameter of a notebook -> the one that stands in its place."""


class OldParameterError(InputError):
    """A parameter of version 0.2; a notebook shows the message alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def remedy_for(key: str, names: dict[str, str] = KEYS) -> str:
    return f"write {names[key]}; tierwise 0.2.0 reads {key}"


def refuse_old_parameters() -> None:
    """Raise `InputError` where this is a notebook's process and the notebook was given a parameter of version 0.2."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    for name in PARAMETERS.keys() & (shell.user_ns if shell else {}):
        raise OldParameterError("notebook", field=name, rule="a parameter of version 0.2", remedy=remedy_for(name, PARAMETERS))
