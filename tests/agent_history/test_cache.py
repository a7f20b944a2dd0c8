"""Totals are kept between two runs: numbers only, and only for the very same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_history.cache import TotalsCache
from agent_history.homes import homes_of
from agent_history.options import Options
from agent_history.reading.files import Fingerprint
from agent_history.reading.transcript import Transcript
from agent_history.records import Session, to_json
from agent_history.registry import Monitor
from tests.agent_history.stores import (
    NOW,
    Claude,
    Rollouts,
    context,
    counted,
    event,
    meta,
    prompt,
    reply,
    tokens,
    usage,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two long sessions, their title and most of their totals outside both ends."""
    claude, codex = Claude(tmp_path / "home"), Rollouts(tmp_path / "home")
    claude.write(prompt("the first prompt"))
    filler = "words " * 20_000
    for number in range(8):
        used = usage(number + 1, 7)
        claude.write(prompt(f"p{number}"), reply(filler, message_id=f"m{number}", used=used))
        if number == 3:
            claude.write({"type": "custom-title", "customTitle": "Kept in the middle"})
    claude.write(reply("the last words", message_id="end"))
    codex.write(meta(), context())
    for number in range(1, 8):
        total, last = counted(100 * number, 10 * number), counted(100, 10)
        codex.write(event("user_message", message=f"{number} {filler}"), tokens(total, last))
    return tmp_path / "home"


def fresh(root: Path, cache: Path) -> list[Session]:
    """A scan of a program that just started."""
    homes = homes_of({}, str(root), proc=str(root / "proc"))
    return Monitor(homes, Options(), TotalsCache(str(cache))).scan(NOW).sessions


def test_a_second_run_says_the_same_and_reads_only_the_ends(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache/totals"
    first = fresh(root, cache)
    asked: list[bool] = []
    refresh = Transcript.refresh

    def spy(self: Transcript[Any], found: Fingerprint, whole: bool) -> bool:
        asked.append(whole)
        return refresh(self, found, whole)

    monkeypatch.setattr(Transcript, "refresh", spy)
    second = fresh(root, cache)
    assert asked == [False, False]
    assert [to_json(session) for session in second] == [to_json(session) for session in first]
    assert not any(session.partial for session in second)
    assert {session.title for session in second} >= {"Kept in the middle"}


def test_a_file_that_grew_is_counted_anew(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache/totals"
    before = {session.harness: session.tokens for session in fresh(root, cache)}
    Claude(root).write(reply("more", message_id="more", used=usage(1000, 0)))
    after = {session.harness: session.tokens for session in fresh(root, cache)}
    assert before["codex"] == after["codex"]
    assert before["claude-code"] is not None and after["claude-code"] is not None
    assert after["claude-code"].input == before["claude-code"].input + 1000


def test_growth_within_one_run_after_a_cached_start(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache/totals"
    fresh(root, cache)
    homes = homes_of({}, str(root), proc=str(root / "proc"))
    monitor = Monitor(homes, Options(), TotalsCache(str(cache)))
    monitor.scan(NOW)
    total = counted(5000, 500)
    Rollouts(root).write(tokens(total, counted(4300, 430)))
    (codex,) = (s for s in monitor.scan(NOW).sessions if s.harness == "codex")
    assert codex.tokens is not None and codex.tokens.input == 5000 and codex.prompts == 7


def test_a_transcript_counts_on_from_the_numbers_of_an_earlier_run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache/totals"
    fresh(root, cache)
    homes = homes_of({}, str(root), proc=str(root / "proc"))
    monitor = Monitor(homes, Options(), TotalsCache(str(cache)))
    monitor.scan(NOW)
    monkeypatch.setattr(Transcript, "_start_over", lambda self: pytest.fail("read whole again"))
    # The newest reply is written again with its final numbers, then another one comes.
    Claude(root).write(
        reply("the last words", message_id="end", used=usage(10, 50)),
        reply("more", message_id="more", used=usage(1000, 7)),
    )
    found = {session.harness: session for session in monitor.scan(NOW).sessions}["claude-code"]
    clean = {session.harness: session for session in fresh(root, tmp_path / "other")}["claude-code"]
    assert (found.tokens, found.prompts, found.cost_usd, found.context_history) == (
        clean.tokens, clean.prompts, clean.cost_usd, clean.context_history,
    )  # fmt: skip
    assert not found.partial


def test_the_cache_holds_no_text_and_is_private(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache/totals"
    fresh(root, cache)
    data = cache.read_bytes()
    for text in (b"words", b"prompt", b"Kept", b"/home", b"cart", str(root).encode()):
        assert text not in data
    assert cache.stat().st_mode & 0o777 == 0o600
    assert cache.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("content", [b"", b"garbage", msgspec.msgpack.encode([99, {}])])
def test_a_broken_or_foreign_cache_costs_time_only(
    root: Path, tmp_path: Path, content: bytes
) -> None:
    cache = tmp_path / "cache/totals"
    cache.parent.mkdir()
    cache.write_bytes(content)
    assert len(fresh(root, cache)) == 2


def test_a_cache_that_cannot_be_written_costs_time_only(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert len(fresh(root, tmp_path / "file/totals")) == 2
    full = TotalsCache("/dev/full/totals")
    assert full.save()
