"""The tables of the toy study, one a module."""
