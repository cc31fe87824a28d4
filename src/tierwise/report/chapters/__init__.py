"""The tables and sentences, one module a chapter."""
