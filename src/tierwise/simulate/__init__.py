"""What would have happened: devices and caches driven without a server, by models alone."""
