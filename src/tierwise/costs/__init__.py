"""Accounting: prices with their sources, what a device, a tier and a delivered operation cost, and how far that hangs on a price."""
