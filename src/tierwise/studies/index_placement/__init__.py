"""The package of the census study: an index, a table, and which of them lies on the SSD."""
