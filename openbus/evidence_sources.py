"""Which evidence sources the user has opted in to. The one place that knows them all."""

from __future__ import annotations

from collections.abc import Callable

from openbus.config import Settings
from openbus.evidence import EvidenceSource


def enabled(settings: Settings, host: str, now: Callable[[], int]) -> list[EvidenceSource]:
    """Sources that are switched on; `now` gives epoch milliseconds."""
    if not settings.codex.evidence:
        return []
    from openbus.codex.worker import CodexSource, Options

    options = Options(homes=settings.codex.homes, sockets=settings.codex.sockets)
    return [CodexSource(options, host=host, now=now)]


def notice(settings: Settings) -> str | None:
    """What the user is told when a source is switched on."""
    return opt_in() if settings.codex.evidence else None


def opt_in() -> str:
    """What a person must know before a source is switched on."""
    from openbus.codex.worker import OPT_IN

    return OPT_IN
