"""What reads the rows."""
