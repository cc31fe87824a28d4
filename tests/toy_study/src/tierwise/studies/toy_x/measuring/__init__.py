"""The side that measures."""
