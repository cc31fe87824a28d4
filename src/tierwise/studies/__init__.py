"""The package of the studies, one a study, each of uniform shape and found by its folder."""
