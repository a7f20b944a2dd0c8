"""OpenAI Codex: rollouts of both dialects, the thread index, the state database, writer locks."""
