"""The figure of the latency study."""
