"""The trial loop, once for every study: order, repeats, caches, provenance, resume."""
