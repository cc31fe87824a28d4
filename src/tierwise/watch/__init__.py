"""What a running PostgreSQL of the reader's waits for: recorded from its statistics, and answered. Nothing on the server is changed."""
