"""Models alone: caches, traces and loops over the device models, without a server or a disk."""
