"""The figures of the survey arrays study, one a module."""
