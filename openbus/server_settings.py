"""`/api/settings`: what is on, in words, with the lines that change it. Read only.

The settings file is the user's: the page shows it and never writes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from openbus.config import Settings

READS = ["GET", "HEAD", "OPTIONS"]


def routes(settings: Settings, file: Path, opt_in: str) -> list[Route]:
    """`opt_in` is what a person must know before native evidence is switched on."""
    body = msgspec.json.encode(described(settings, file, opt_in))

    async def answer(request: Request) -> Response:
        return Response(body, media_type="application/json")

    return [Route("/api/settings", answer, methods=READS)]


def described(settings: Settings, file: Path, opt_in: str) -> dict[str, Any]:
    """Sections `{name, title, text, values[[name, value]], paste}`."""
    tmux, codex, service = settings.tmux, settings.codex, settings.service
    watched = ", ".join((*tmux.socket_names, *tmux.socket_paths)) or "every tmux server of yours"
    return {
        "file": str(file),
        "sections": [
            {
                "name": "sources",
                "title": "What is watched",
                "text": "",
                "values": [
                    ["tmux", watched],
                    ["Left out", ", ".join(tmux.ignore) or "nothing"],
                    ["Sessions on disk", "of Claude Code and Codex, read when this page asks"],
                ],
                "paste": '[tmux]\nignore = ["htop", "private:*"]',
            },
            {
                "name": "privacy",
                "title": "Privacy",
                "text": "Excerpts, plans and prompts are read when a paired page asks, stay in "
                "memory, and go nowhere else. What a notification says comes from the visible "
                "screen.",
                "values": [
                    ["Beyond this machine", "yes" if service.hosts else "only by address"],
                    ["Token", "needed" if service.token else "not needed"],
                ],
                "paste": "",
            },
            {
                "name": "evidence",
                "title": "Native evidence",
                "text": opt_in,
                "values": [
                    ["Codex", "compared with the screen" if codex.evidence else "off"],
                    ["Homes", ", ".join(codex.homes)],
                ],
                "paste": "" if codex.evidence else "[codex]\nevidence = true",
            },
        ],
    }
