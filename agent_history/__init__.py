"""Read-only readers of coding agents' own session stores."""
