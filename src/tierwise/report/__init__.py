"""Figures, tables and sentences from rows and verdicts, and the report that shows them, by either engine."""
