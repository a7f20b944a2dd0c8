"""Lines of a rollout that totals need. Most bytes are the model's copies of texts and outputs.

An older rollout is read for its totals only: prompts, tokens, lines and the plan. What is surely
something else is dropped before it is parsed; a line whose kind does not stand where Codex writes
it is kept, so that other spacing or order costs time and never a number.
"""

from __future__ import annotations

# Payload types that say nothing of totals.
DROPPED = frozenset(
    {
        b"message",
        b"reasoning",
        b"function_call_output",
        b"custom_tool_call",
        b"custom_tool_call_output",
        b"local_shell_call",
        b"web_search_call",
        b"agent_message",
        b"agent_reasoning",
        b"agent_reasoning_raw_content",
        b"task_started",
        b"task_complete",
        b"exec_command_begin",
        b"exec_command_end",
        b"thread_settings_applied",
    }
)
# Line types whose payload has no type.
DROPPED_LINES = (b'"token_usage_record"', b'"world_state"')


_PAYLOAD = b'"payload":{'
_TYPE = b'"type":"'
_MODEL = b'"model":"'


class TotalsSieve:
    """Drops, block by block, the lines that totals do not need; one sieve per file.

    Forks are left alone: where the parent's records end is told by lines dropped elsewhere.
    """

    def __init__(self) -> None:
        self._counts = b""
        self._model = b""
        self._forked: bool | None = None
        self._titled = False
        self.prompts = 0
        """Prompts that were counted here and dropped; the first one goes through for the title."""

    def __call__(self, block: bytes) -> bytes:
        """The lines of a block that say something of totals."""
        if self._forked is None:
            metas = block.count(b'"session_meta"', 0, 1 << 16)
            self._forked = metas > 1 or block.find(b'"forked_from_id":"', 0, 1 << 16) >= 0
        if self._forked:
            return block
        kept: list[bytes] = []
        for line in block.split(b"\n"):
            place = line.find(_PAYLOAD, 0, 160) + 11
            if not line.startswith(_TYPE, place):
                if self._untyped(line):
                    kept.append(line)
                continue
            begin = place + 8
            kind = line[begin : line.find(b'"', begin, begin + 40)]
            if kind in DROPPED:
                continue
            if kind == b"token_count":
                # Every reply writes its counts twice; only the time differs.
                counts = line[place:]
                if counts != self._counts:
                    self._counts = counts
                    kept.append(line)
            elif kind == b"user_message" and self._titled and _counts(line, begin):
                self.prompts += 1
            elif kind != b"function_call" or b"update_plan" in line[:400]:
                self._titled = self._titled or kind == b"user_message"
                kept.append(line)
        return b"\n".join(kept)

    def _untyped(self, line: bytes) -> bool:
        """Is a line whose payload has no type wanted? A turn's context is when its model is new."""
        start = line[:100]
        if b'"turn_context"' in start:
            place = line.find(_MODEL)
            model = line[place : line.find(b'"', place + 9)] if place >= 0 else b""
            if model and model == self._model:
                return False
            self._model = model
            return True
        return not any(name in start for name in DROPPED_LINES)


def _counts(line: bytes, begin: int) -> bool:
    """Is this surely one prompt? Not when it is empty, nor in a thread that has both dialects."""
    place = begin + len(b'user_message"')
    return (
        line.startswith(b',"message":"', place)
        and not line.startswith(b',"message":""', place)
        and b'"ordinal"' not in line[:80]
    )
