"""Which relation belongs on which tier, and whether a move pays: from a run's heat, device models and prices."""
