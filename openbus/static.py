"""The files of the web page: known at the start, small, checked by ETag, packed for the wire."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}
PACKED = frozenset({".html", ".js", ".css", ".svg", ".webmanifest"})


class File(msgspec.Struct, frozen=True, kw_only=True):
    """One file. `packed` is the gzip form, None where it would not help."""

    path: str
    media: str
    body: bytes
    packed: bytes | None
    etag: str


def files() -> tuple[File, ...]:
    """Every file below `openbus/web` that has a media type; `index.html` is `/`."""
    return tuple(_below(resources.files("openbus").joinpath("web"), "/"))


def build(found: tuple[File, ...]) -> str:
    """A name for exactly these files: a page that was loaded from others is out of date."""
    text = "".join(f"{file.path} {file.etag}\n" for file in found)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def routes(found: tuple[File, ...], methods: list[str]) -> list[Route]:
    return [Route(file.path, _serve(file), methods=methods) for file in found]


def _serve(file: File) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        headers = {"ETag": file.etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        body = file.body
        if file.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            body = file.packed
            headers["Content-Encoding"] = "gzip"
        return Response(body, headers=headers, media_type=file.media)

    return answer


def _below(folder: Traversable, path: str) -> list[File]:
    found = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        suffix = "." + entry.name.rpartition(".")[2]
        if entry.is_dir():
            found += _below(entry, f"{path}{entry.name}/")
        elif suffix in MEDIA:
            body = entry.read_bytes()
            packed = gzip.compress(body, mtime=0) if suffix in PACKED else None
            found.append(
                File(
                    path=path if entry.name == "index.html" else path + entry.name,
                    media=MEDIA[suffix],
                    body=body,
                    packed=packed,
                    etag=f'"{hashlib.sha256(body).hexdigest()[:20]}"',
                )
            )
    return found
