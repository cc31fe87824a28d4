"""The package of the study of a survey's tables: which of them, or of their indexes, lie on the SSDs."""
