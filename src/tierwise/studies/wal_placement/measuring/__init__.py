"""The measuring side of the room: trials, the grids of the profiles, the forecast."""
