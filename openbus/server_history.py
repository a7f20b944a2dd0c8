"""`/api/history?from&to[&pane]`: what panes went through, as spans."""

from __future__ import annotations

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from openbus.history import History

READS = ["GET", "HEAD", "OPTIONS"]
LONGEST = 31 * 24 * 3600 * 1000


def routes(history: History) -> list[Route]:
    async def answer(request: Request) -> Response:
        unknown = request.query_params.keys() - {"from", "to", "pane"}
        if unknown:
            raise HTTPException(422, "there are: from, to, pane")
        start, end = (_time(request, name) for name in ("from", "to"))
        if not start <= end <= start + LONGEST:
            raise HTTPException(422, "from comes before to, at most 31 days")
        found = await history.spans(start, end, request.query_params.get("pane"))
        body = msgspec.json.encode({"from": start, "to": end, "spans": found})
        return Response(body, media_type="application/json")

    return [Route("/api/history", answer, methods=READS)]


def _time(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise HTTPException(422, f"{name} is a time in epoch milliseconds")
    return int(text)
