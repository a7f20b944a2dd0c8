"""Pairing: one-time codes, hashed keys, roles, revocation, lock-out."""

from __future__ import annotations

from pathlib import Path

import pytest

from openbus.pairing import (
    CODE_LIFE,
    FILE,
    MOST_KEYS,
    SEEN_EVERY,
    WRONG_MOST,
    WRONG_SPAN,
    Lockout,
    Pairing,
    PairingError,
)

NOW = 1_790_000_000_000


def test_a_code_works_once_and_for_ten_minutes(tmp_path: Path) -> None:
    book = Pairing(tmp_path)
    code = book.invite("full", NOW)
    late = book.invite("full", NOW)
    assert book.redeem("another", "x", NOW) is None
    secret = book.redeem(code, "Firefox on Linux", NOW + CODE_LIFE - 1)
    assert secret is not None
    assert book.redeem(code, "x", NOW) is None
    assert book.redeem(late, "x", NOW + CODE_LIFE) is None
    key = book.who(secret, NOW)
    assert key is not None and key.role == "full" and key.label == "Firefox on Linux"


def test_nothing_that_opens_is_kept(tmp_path: Path) -> None:
    book = Pairing(tmp_path)
    code = book.invite("view", NOW)
    secret = book.redeem(code, "x", NOW)
    token = book.issue("full", "backup", NOW)
    kept = (tmp_path / FILE).read_text()
    assert secret is not None
    assert not any(words in kept for words in (code, secret, token))
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_revoked_key_opens_nothing_in_another_process_either(tmp_path: Path) -> None:
    service, command = Pairing(tmp_path), Pairing(tmp_path)
    secret = command.issue("full", "x", NOW)
    key = service.who(secret, NOW)
    assert key is not None and service.holds(key)
    assert command.revoke(key.id) and not command.revoke(key.id)
    assert service.who(secret, NOW) is None and not service.holds(key)


def test_when_a_key_was_seen_is_kept_to_the_hour(tmp_path: Path) -> None:
    book = Pairing(tmp_path)
    secret = book.issue("full", "x", NOW)
    book.who(secret, NOW + SEEN_EVERY - 1)
    assert book.everybody()[0].seen_at == NOW
    book.who(secret, NOW + SEEN_EVERY)
    assert book.everybody()[0].seen_at == NOW + SEEN_EVERY


def test_there_is_room_for_a_hundred(tmp_path: Path) -> None:
    book = Pairing(tmp_path)
    for number in range(MOST_KEYS):
        book.issue("view", str(number), NOW)
    with pytest.raises(PairingError, match="--revoke"):
        book.issue("view", "one more", NOW)


def test_wrong_keys_close_the_door_to_their_address_for_a_while() -> None:
    lockout = Lockout()
    for number in range(WRONG_MOST):
        assert lockout.seconds("10.0.0.9", NOW + number) == 0
        lockout.wrong("10.0.0.9", NOW + number)
    assert lockout.seconds("10.0.0.9", NOW + 20) == WRONG_SPAN // 1000
    assert lockout.seconds("10.0.0.8", NOW + 20) == 0
    assert lockout.seconds("10.0.0.9", NOW + WRONG_SPAN) == 0
    assert lockout.seconds("10.0.0.9", NOW - WRONG_SPAN * 100) == WRONG_SPAN // 1000


def test_a_flood_of_addresses_stays_bounded() -> None:
    lockout = Lockout()
    for number in range(5000):
        lockout.wrong(f"2001:db8::{number:x}", NOW)
    assert len(lockout._wrong) <= 1000
