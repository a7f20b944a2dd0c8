"""Reading without a trace: JSON lines followed by byte offset, bounded ends, SQLite, processes."""
