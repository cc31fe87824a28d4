"""The side that reads."""
