"""The tables of the latency study, one a module."""
