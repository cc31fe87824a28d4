"""tierwise: which tables, indexes and logs belong on which storage, and what does each I/O cost there?"""

__version__ = "0.3.0"
