"""Formats that survive any screen, title and locale.

Every record starts with a nonce that is drawn anew for each request; the nonce also stands between
texts. So no title, path or screen can imitate a border, and newlines or separators inside a text
do no harm. Everything is printable ASCII: outside a UTF-8 locale tmux replaces other bytes by `_`,
and tmux 3.4 and later print control bytes as `\\037`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One record of a request's output.

    `before` is what was printed since the previous record (a captured screen), `words` the fields
    that hold no blank, `texts` the fields that may hold anything.
    """

    before: bytes
    tag: str
    words: tuple[str, ...]
    texts: tuple[str, ...]


def new_nonce() -> str:
    """A border that no pane can know."""
    return f"ob{secrets.token_hex(8)}"


def record_format(nonce: str, tag: str, words: Sequence[str], texts: Sequence[str] = ()) -> str:
    """A tmux format that prints one record: names of tmux variables, texts last."""
    head = " ".join([tag, *(f"#{{{name}}}" for name in words)])
    return "".join([nonce, head, nonce, *(f"#{{{name}}}{nonce}" for name in texts), "."])


def records(output: bytes, nonce: str, tags: dict[str, int]) -> Iterator[Record]:
    """Split what a request printed. `tags` says how many texts the records of each tag have.

    A record that was cut off (the server ended while printing) is left out.
    """
    chunks = iter(output.split(nonce.encode("ascii")))
    before = next(chunks)
    for chunk in chunks:
        tag, *words = chunk.decode("utf-8", "replace").split(" ")
        if tag not in tags:
            return
        texts = [next(chunks, None) for _ in range(tags[tag])]
        rest = next(chunks, None)
        if rest is None or not rest.startswith(b"."):
            return
        yield Record(
            before=before,
            tag=tag,
            words=tuple(words),
            texts=tuple(text.decode("utf-8", "replace") for text in texts if text is not None),
        )
        before = rest.removeprefix(b".").removeprefix(b"\n")


def flag(word: str) -> bool:
    """A tmux flag: empty and 0 are false; `pane_in_mode` counts modes."""
    return word not in ("", "0")


def number(word: str) -> int:
    """A tmux number; empty (a dead pane has no cursor or pid in some versions) is 0."""
    return int(word) if word.isascii() and word.lstrip("-").isdigit() else 0
