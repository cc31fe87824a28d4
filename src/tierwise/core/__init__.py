"""Units, words, errors, typed configuration, host fingerprint: what every other package may import."""
