"""The studies, one package each, found by their folders.

`measuring` runs a study and `reading` shows it; neither imports another study. ``CONTRIBUTING.md`` lists the files of a study, and
``tests/toy_study`` is the smallest complete one.
"""
