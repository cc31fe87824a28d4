"""Service-time models of disks, flash and arrays: pure (no clock, no I/O), seeded, driven by the emulator and the simulator alike."""
