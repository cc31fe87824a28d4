"""What a process asked of the storage, seen from outside."""
