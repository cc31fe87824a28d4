"""The trial loop, once for every study: order, repeats, cache states, provenance, resume."""
