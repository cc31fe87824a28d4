"""Figures, tables and sentences from rows and verdicts, and the report that shows them, by either engine."""

import sys

# Altair imports jsonschema, and that a grammar of addresses, compiled for seconds at each import, for a check that no chart has.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
