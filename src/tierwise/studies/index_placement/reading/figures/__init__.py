"""The figures of the census study, one a module."""
