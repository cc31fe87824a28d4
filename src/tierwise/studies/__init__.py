"""One measuring module per study, of uniform shape, found by its name."""
