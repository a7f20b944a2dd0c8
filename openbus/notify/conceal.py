"""Takes secrets out of what a notification says. Its words, paths and names stay readable.

A notification leaves the machine, so in doubt a value goes: known shapes of keys, values behind
names that say that they are secret, user and password in an address, long random runs.
"""

from __future__ import annotations

import re

DOTS = "•••"

_SECRETS = tuple(
    re.compile(pattern)
    for pattern in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
        r"\b(?:sk|pk|rk)[-_][\w-]{8,}|\b(?:ghp|gho|ghs|ghu|github_pat|glpat|npm|hf|pypi)[_-][\w-]{8,}"
        r"|\bxox[a-z]-[\w-]{8,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}",
        r"(?i:\b(?:bearer|basic)[ \t]+)(?P<bearer>[\w.~+/=-]{8,})",
        # NAME=value, NAME: value, "name": "value", --name value
        r"(?i:[\w-]*(?:secret|token|passw(?:or)?d|passwd|passphrase|api[-_]?key|access[-_]?key"
        r"|credential|auth)[\w-]*[\"']?(?:[ \t]*[=:][ \t]*|[ \t]+)[\"']?)"
        r"(?P<value>[^\s'\"│┃]{6,})",
        # curl -u name:password, mysql -ppassword
        r"(?i:\b(?:curl|wget|mysql|psql)\b[^\n]*?[ \t](?:-u|-p|--user)[ \t=]?)"
        r"(?P<login>[^\s'\"]{4,})",
        r"\b[a-zA-Z][a-zA-Z0-9+.-]*://(?P<user>[^\s/@]+)@",
        r"\b[0-9a-fA-F]{32,}\b",
        r"(?<![\w/])(?=[\w+/]*\d)(?=[\w+/]*[A-Z])(?=[\w+/]*[a-z])[A-Za-z0-9+/_]{32,}={0,2}",
    )
)


def conceal(text: str) -> str:
    """`text` with every secret replaced by three dots."""
    for pattern in _SECRETS:
        text = pattern.sub(_dots, text)
    return text


def _dots(match: re.Match[str]) -> str:
    name = match.lastgroup
    if name is None:
        return DOTS
    # "the token expired" is prose: only a sign of assignment makes a plain word a value.
    plain = name == "value" and match[name].isalpha() and match[name].islower()
    if plain and "=" not in match[0] and ":" not in match[0]:
        return match[0]
    start, end = match.start(name) - match.start(), match.end(name) - match.start()
    return match[0][:start] + DOTS + match[0][end:]
