"""Codex app-server as a read-only evidence source, off by default (`docs/native-evidence.md`)."""
