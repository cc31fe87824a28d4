"""Event loop, page caches, workloads, and replay of recorded access traces against the device models."""
