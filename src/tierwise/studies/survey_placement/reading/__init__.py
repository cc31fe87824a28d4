"""The reading side of a study: SQL, figures, chapters and words; nothing in it imports what measures."""
