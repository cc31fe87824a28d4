"""The tables of the survey arrays study, one a module."""
