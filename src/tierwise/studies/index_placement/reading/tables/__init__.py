"""The tables of the census study and of its data, one a module."""
