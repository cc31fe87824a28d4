"""The rows that are measured: read from a file or generated from distilled facts, always as one Parquet file."""
