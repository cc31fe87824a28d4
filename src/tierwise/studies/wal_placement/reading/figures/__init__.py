"""The figures of the WAL study, one a module."""
