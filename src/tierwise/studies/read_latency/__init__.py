"""The package of the latency study: how long one read takes, by tablespace."""
