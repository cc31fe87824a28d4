"""The tables of the WAL study, one a module."""
