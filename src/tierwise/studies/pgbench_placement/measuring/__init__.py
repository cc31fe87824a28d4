"""The measuring side of the room: trials, loads, the grids of the profiles, the forecast."""
