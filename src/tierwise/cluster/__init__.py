"""Campaigns on several machines: workers measure whole replicates, a store keeps them, the client collects a run from the store."""
