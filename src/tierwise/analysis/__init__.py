"""What the raw rows say: SQL over the timing store, statistics, and the verdict on each published claim."""
