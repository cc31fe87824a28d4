"""The figures of the pgbench study, one a module."""
