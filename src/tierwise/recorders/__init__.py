"""Storage requests of processes, seen from outside."""
