"""What measures."""
