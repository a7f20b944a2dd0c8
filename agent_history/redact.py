"""Excerpts: the agent's latest words, short, on one line, with obvious secrets taken out."""

from __future__ import annotations

import re

EXCERPT = 280
MASK = "[redacted]"

# Searched before cutting, in a window a little longer than the excerpt, so that a secret that
# straddles the cut is still recognised as one.
_WINDOW = 4_096
_SECRETS = (
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL
    ),
    re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,}"),
    re.compile(r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,}"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{8,}"),
    re.compile(r"\bgithub_pat_[A-Za-z0-9_]{8,}"),
    re.compile(r"\bglpat-[A-Za-z0-9_-]{8,}"),
    re.compile(r"\bxox[a-z]-[A-Za-z0-9-]{8,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}"),
    re.compile(r"\bAIza[A-Za-z0-9_-]{20,}"),
    re.compile(r"\bnpm_[A-Za-z0-9]{16,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?"),
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_ASSIGNED = re.compile(
    r"(?i)\b([a-z0-9_.-]*(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|"
    r"private[_-]?key|credentials?))(\"?'?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;\"']+)"
)
_URL_LOGIN = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://[^/\s:@]+:)[^@\s/]+@")


def redact(text: str) -> str:
    """`text` with keys, tokens, JWTs, bearer values and password assignments masked."""
    for pattern in _SECRETS:
        text = pattern.sub(MASK, text)
    text = _BEARER.sub(rf"\1 {MASK}", text)
    text = _URL_LOGIN.sub(rf"\1{MASK}@", text)
    return _ASSIGNED.sub(rf"\1\2{MASK}", text)


def excerpt(text: str) -> str:
    """At most 280 characters of `text`, blanks collapsed, secrets masked, "…" where it was cut."""
    line = " ".join(redact(text[:_WINDOW]).split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1] + "…"
