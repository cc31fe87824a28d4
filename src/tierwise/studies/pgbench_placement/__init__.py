"""The package of the study of pgbench: which placement gives the most transactions a second."""
