"""What `openbus up` and `openbus pair` say about the web page: the link, its code, its limits."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from openbus.door import now_ms
from openbus.listen import is_loopback
from openbus.pairing import Pairing, pairing_url


def greeting(url: str, pairing: Pairing | None, environ: Mapping[str, str]) -> Iterator[str]:
    """The first lines of the service. In a journal no link is printed: it would be kept there."""
    if pairing is None:
        yield f"OpenBus is up: {url}"
        return
    if "JOURNAL_STREAM" in environ:
        yield f"OpenBus is up: {url} (a browser is paired with `openbus pair`)"
        return
    link = pairing_url(reachable(url), pairing.invite("full", now_ms()))
    yield f"OpenBus is up: {link}"
    yield "The link pairs one browser within ten minutes; `openbus pair` makes another."
    if not is_loopback(urlsplit(url).hostname or ""):
        yield from beyond(url)


def reachable(url: str) -> str:
    """`url` as another device reaches it: an address that means "all of them" names nobody."""
    host, port = urlsplit(url).hostname or "", urlsplit(url).port
    if host in ("0.0.0.0", "::"):  # noqa: S104 - recognised, not listened on
        return f"http://{_own_address()}:{port}/"
    return url


def _own_address() -> str:
    """The address that this machine is reached at by its network; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def beyond(url: str) -> Iterator[str]:
    """What to know when others on the network reach the address."""
    port = urlsplit(url).port
    yield (
        "Others on this network reach this address, and nothing is encrypted on the way. Better: "
        f"listen on 127.0.0.1 and put `tailscale serve {port}` or a TLS proxy in front "
        "(docs/web.md)."
    )


def qr(link: str) -> str:
    """The link as a code for a phone's camera, drawn with half blocks."""
    import segno

    drawn = io.StringIO()
    code: Any = segno.make(link, error="l", micro=False)
    code.terminal(out=drawn, compact=True, border=2)
    return drawn.getvalue()
