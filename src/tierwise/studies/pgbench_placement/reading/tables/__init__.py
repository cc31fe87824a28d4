"""The tables of the pgbench study, one a module."""
