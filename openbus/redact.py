"""Takes out of a capture what names a person, a machine or a secret, and keeps its geometry.

Every character that goes is replaced by one of the same width, so that rows, boxes and wraps stay
where they were and the screen is read as before. Replaced are: the user's and the host's name, what
follows the home folder in paths, e-mail and IP addresses, keys and tokens, values of variables that
are named like secrets, and whatever stands behind the host in a URL. The words of the conversation
stay: they are what a report about a wrong reading is about. Look at the file before you send it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from wcwidth import wcwidth

from openbus.model import Capture

_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
)
_LINK = re.compile(r"\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)")

_PATTERNS = (
    # Keys with a known beginning, and JSON web tokens.
    r"\b(?:sk|pk|rk)-[\w-]{8,}|\b(?:ghp|gho|ghs|ghu|github_pat|glpat|npm|hf)[_-]\w{8,}"
    r"|\bxox[a-z]-[\w-]{8,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}"
    r"|\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}",
    # NAME=value where the name says that it is a secret.
    r"(?i:\b\w*(?:secret|token|password|passwd|api_?key|credential)\w*[ \t]*[=:][ \t]*)"
    r"(?P<value>[^\s'\"│┃]{4,})",
    r"(?i:\bbearer[ \t]+)(?P<bearer>[\w.~+/-]{8,}=*)",
    # Long runs of hex or base64: hashes, keys, session ids.
    r"\b[0-9a-fA-F]{32,}\b|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",
    r"\b(?=[\w+/]*\d)(?=[\w+/]*[A-Z])(?=[\w+/]*[a-z])[A-Za-z0-9+/_]{32,}={0,2}",
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    r"\b(?!127\.0\.0\.1\b|0\.0\.0\.0\b)(?:\d{1,3}\.){3}\d{1,3}\b",
    r"\b[a-z][a-z0-9+.-]*://(?:[^\s/@]*@)?[^\s/]+/(?P<url>[^\s│┃)\]]+)",
)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who is behind the capture: names and folders to take out. Empty ones are ignored."""

    user: str = ""
    host: str = ""
    home: str = ""


def redact(capture: Capture, identity: Identity) -> Capture:
    """`capture` without what identifies; every text of it keeps its width."""
    patterns = _patterns(identity)

    def plain(text: str) -> str:
        return _replace(text, patterns, width=0)

    return msgspec.structs.replace(
        capture,
        ansi=_replace(_LINK.sub("", capture.ansi), patterns, capture.width),
        title=plain(capture.title),
        cwd=plain(capture.cwd),
        processes=tuple(
            msgspec.structs.replace(process, argv=tuple(plain(word) for word in process.argv))
            for process in capture.processes
        ),
    )


def redact_text(text: str, identity: Identity) -> str:
    """Plain text (rows already joined) without what identifies."""
    return _replace(text, _patterns(identity), width=0)


def _patterns(identity: Identity) -> list[re.Pattern[str]]:
    found = (*_paths(identity), *_PATTERNS, *_names(identity))
    return [re.compile(pattern) for pattern in found]


def _paths(identity: Identity) -> list[str]:
    """What follows the home folder. Agents write it as `~` too."""
    homes = [re.escape(identity.home)] if len(identity.home) > 1 else []
    rest = r"/(?P<path{}>[^\s'\"│┃:;,)\]]+)"
    return [home + rest.format(i) for i, home in enumerate([*homes, r"(?<!\S)~"])]


def _names(identity: Identity) -> list[str]:
    names = [name for name in (identity.user, identity.host) if len(name) > 1]
    return [rf"(?<![\w]){re.escape(name)}(?![\w])" for name in names]


def _replace(text: str, patterns: Sequence[re.Pattern[str]], width: int) -> str:
    """Visible characters of `text` blanked where a pattern matches.

    Escapes are stepped over, and a row that fills `width` goes on in the next one: a token that was
    wrapped, or whose middle is coloured, is found all the same.
    """
    chars = list(text)
    places: list[int] = []
    columns = 0
    at = 0
    while at < len(chars):
        if chars[at] == "\x1b" and (escape := _ESCAPE.match(text, at)):
            at = escape.end()
            continue
        if chars[at] == "\n":
            if not width or columns < width:
                places.append(at)
            columns = 0
        else:
            places.append(at)
            columns += max(0, wcwidth(chars[at]))
        at += 1
    visible = "".join(chars[place] for place in places)
    for pattern in patterns:
        for match in pattern.finditer(visible):
            # A group marks the secret part of a longer match: the name before it stays readable.
            group = match.lastgroup or 0
            for index in range(match.start(group), match.end(group)):
                chars[places[index]] = _blank(chars[places[index]])
    return "".join(chars)


def _blank(char: str) -> str:
    if char.isdigit():
        return "0"
    if char.isalpha():
        return "口" if wcwidth(char) == 2 else "x"
    return char
