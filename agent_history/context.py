"""What the context holds: a small sample of its size over time, and an estimate of its parts.

Only numbers and names are kept while reading, never text. Tokens of a text whose count nobody
recorded are estimated at four characters each.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent_history.records import BreakdownItem, BreakdownPart, ContextBreakdown

SAMPLE = 24
CHARS_PER_TOKEN = 4
PARTS = ("messages", "system", "builtInTools", "mcpTools", "skills", "memory")


class ContextSample:
    """At most 24 sizes, evenly spaced over all replies, ending at the newest.

    Every `stride`-th size is kept; when twice the sample is full, every second one goes and the
    stride doubles. So memory stays constant however long the session is.
    """

    __slots__ = ("_kept", "_last", "_seen", "_stride")

    def __init__(self) -> None:
        self._kept: list[int] = []
        self._stride = 1
        self._seen = 0
        self._last: int | None = None

    def add(self, used: int) -> None:
        """The context after one more reply."""
        if self._seen % self._stride == 0:
            self._kept.append(used)
            if len(self._kept) >= 2 * SAMPLE:
                del self._kept[1::2]
                self._stride *= 2
        self._seen += 1
        self._last = used

    def replace(self, used: int) -> None:
        """The newest reply was written again with other numbers; it counts once."""
        if self._seen and (self._seen - 1) % self._stride == 0 and self._kept:
            self._kept[-1] = used
        self._last = used

    def values(self, now: int | None = None) -> tuple[int, ...] | None:
        """The sample, ending at `now` (the context's size) where given; None before a reply."""
        if self._last is None:
            return None
        last = self._last if now is None else now
        kept = self._kept
        if (self._seen - 1) % self._stride == 0:
            kept = kept[:-1]
        room = SAMPLE - 1
        if len(kept) > room:
            kept = [kept[index * len(kept) // room] for index in range(room)]
        return (*kept, last)

    def state(self) -> tuple[list[int], int, int, int | None]:
        """Everything there is to keep, as numbers."""
        return list(self._kept), self._stride, self._seen, self._last

    @classmethod
    def from_state(cls, state: tuple[list[int], int, int, int | None]) -> ContextSample:
        """The sample that `state` described."""
        sample = cls()
        kept, sample._stride, sample._seen, sample._last = state
        sample._kept = list(kept)
        return sample


class BreakdownSizes:
    """Collects the sizes that a `ContextBreakdown` is estimated from."""

    def __init__(self) -> None:
        self.fixed: dict[str, dict[str, int]] = {part: {} for part in PARTS[1:]}
        self.mcp_tools: dict[str, int] = {}
        self.whole_system = False
        """Were the system prompt and the tool definitions recorded?"""
        self.first_input: int | None = None
        self.first_prompt = 0
        self.began = False
        self.mid_session = False
        self._items: dict[tuple[str, str], float] = {}
        self._pending: dict[tuple[str, str], int] = {}
        self._before: int | None = None
        self._compacted = False

    def fixed_text(self, part: str, name: str, chars: int) -> None:
        """Text that is sent with every request; the newest size of a name counts."""
        self.fixed[part][name] = chars

    def message(self, kind: str, chars: int, name: str = "") -> None:
        """Text of the conversation: `prompts`, `replies` or a `tool` with its name."""
        if self.first_input is None and kind == "prompts":
            self.first_prompt += chars
            self.began = True
        key = (kind, name)
        self._pending[key] = self._pending.get(key, 0) + chars

    def compaction(self) -> None:
        """The conversation so far was replaced by a summary."""
        if self.first_input is None:
            self.mid_session = True
        self._compacted = True

    def request(self, size: int) -> None:
        """A request with `size` input tokens, cached ones included."""
        if self.first_input is None:
            self.first_input = size
            self._items = {("prompts", ""): self.first_prompt / CHARS_PER_TOKEN}
        elif self._compacted:
            self._items = {("summary", ""): float(max(0, size - self.fixed_tokens()))}
        elif self._before is not None and size > self._before:
            growth, total = size - self._before, sum(self._pending.values())
            for key, chars in self._pending.items():
                share = growth * chars / total if total else 0.0
                self._items[key] = self._items.get(key, 0.0) + share
        self._compacted = False
        self._pending = {}
        self._before = size

    def fixed_tokens(self) -> int:
        """Tokens that were there before the first message."""
        return (self.first_input or 0) - round(self.first_prompt / CHARS_PER_TOKEN)

    def breakdown(
        self, at: int, total: int, limit: int, reserved: int, output: int
    ) -> ContextBreakdown | None:
        """The estimate for a context of `total` tokens whose latest reply had `output` of them."""
        chars = {part: sum(sizes.values()) for part, sizes in self.fixed.items()}
        fixed = self.fixed_tokens()
        if self.mid_session or not self.began or not 0 < fixed <= total:
            known = min(total, round(sum(chars.values()) / CHARS_PER_TOKEN))
            if not known:
                return None
            parts = [
                BreakdownPart(id="messages", tokens=total - known, items=()),
                BreakdownPart(id="system", tokens=known, items=()),
            ]
            return ContextBreakdown(
                at=at, total=total, limit=limit, reserved=reserved, parts=tuple(parts)
            )
        items = dict(self._items)
        items[("replies", "")] = items.get(("replies", ""), 0.0) + output
        parts = [
            BreakdownPart(
                id="messages",
                tokens=total - fixed,
                items=tuple(
                    BreakdownItem(tokens=tokens, id=kind, name=name or None)
                    for (kind, name), tokens in _scaled(items, total - fixed).items()
                ),
            ),
            *self._fixed_parts(chars, fixed),
        ]
        return ContextBreakdown(
            at=at, total=total, limit=limit, reserved=reserved, parts=tuple(parts)
        )

    def _fixed_parts(self, chars: dict[str, int], fixed: int) -> Iterable[BreakdownPart]:
        everything = sum(chars.values())
        ratio = fixed / everything if self.whole_system and everything else 1 / CHARS_PER_TOKEN
        sizes = {part: chars[part] * ratio for part in PARTS[2:] if self.fixed[part]}
        over = sum(sizes.values()) / fixed
        if over > 1:
            sizes = {part: size / over for part, size in sizes.items()}
        rounded = {part: round(size) for part, size in sizes.items()}
        yield BreakdownPart(id="system", tokens=fixed - sum(rounded.values()), items=())
        for part, tokens in rounded.items():
            shares = _scaled({("", name): float(n) for name, n in self.fixed[part].items()}, tokens)
            yield BreakdownPart(
                id=part,
                tokens=tokens,
                items=tuple(self._item(part, name, n) for (_, name), n in shares.items()),
            )

    def _item(self, part: str, name: str, tokens: int) -> BreakdownItem:
        if part == "memory":
            return BreakdownItem(tokens=tokens, path=name)
        if part == "mcpTools":
            return BreakdownItem(tokens=tokens, name=name, tools=self.mcp_tools.get(name))
        return BreakdownItem(tokens=tokens, name=name)


def _scaled(sizes: dict[tuple[str, str], float], total: int) -> dict[tuple[str, str], int]:
    """Whole numbers in proportion to `sizes` that add up to `total`; the largest takes the rest."""
    everything = sum(sizes.values())
    if not sizes or everything <= 0:
        return {}
    out = {key: int(total * size / everything) for key, size in sizes.items()}
    largest = max(out, key=lambda key: out[key])
    out[largest] += total - sum(out.values())
    return out
