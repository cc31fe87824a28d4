"""The package of the WAL study: where the log lies, and what a commit then takes."""
