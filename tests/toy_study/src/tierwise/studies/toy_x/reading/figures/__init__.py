"""The figures of the toy study, one a module."""
