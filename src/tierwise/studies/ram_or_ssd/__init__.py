"""The package of the study of Zipfian reads: memory, or an SSD, in front of the disks."""
