"""The tables of the Zipfian reads and of the costs, one a module."""
