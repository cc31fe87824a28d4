"""Exhibits of several studies, one a module."""
