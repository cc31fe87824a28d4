"""The package of a toy: the smallest study that is whole. CONTRIBUTING.md names its files."""
