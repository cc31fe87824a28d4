"""Tables of several studies, one a module."""
