"""The tables of the survey placement study, one a module."""
