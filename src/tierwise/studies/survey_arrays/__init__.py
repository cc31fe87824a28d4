"""The package of the study of arrays: queries on a sky catalog, on arrays of disks and of SSDs."""
