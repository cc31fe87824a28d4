"""The campaign of faults: ``tierwise report`` is broken in every phase, resumed, and held against an undisturbed run."""
