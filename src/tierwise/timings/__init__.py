"""Raw observations: their schema, their files, their manifest, and the views over all runs."""
