"""What a report would measure, how long that takes and what it needs: said before anything starts."""
