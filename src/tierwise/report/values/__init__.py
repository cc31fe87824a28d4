"""Numbers of the pages that are of several studies, one page a module."""
