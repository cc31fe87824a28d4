"""The calculator: what a workload of any size takes, from counts that were simulated at the nodes of a grid."""
