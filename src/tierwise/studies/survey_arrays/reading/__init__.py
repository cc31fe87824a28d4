"""The reading side of the room: SQL, figures, chapters and words; nothing in it imports what measures."""
