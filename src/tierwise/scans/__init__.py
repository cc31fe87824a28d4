"""What a scan of a PostgreSQL table takes on a device: where its rows lie, what the kernel reads ahead, how the server reads."""
