"""One study's room."""
