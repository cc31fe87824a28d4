"""The figures of the survey placement study, one a module."""
