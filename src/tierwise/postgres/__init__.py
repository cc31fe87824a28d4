"""A PostgreSQL server of our own: its life cycle, where its relations lie, what it reads, and the proof that it was cold."""
