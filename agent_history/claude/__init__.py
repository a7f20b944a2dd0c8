"""Claude Code: transcripts, subagents, the live registry and the desktop app's record."""
