"""Comparing the native account with the screen counts and decides nothing."""

from __future__ import annotations

import pytest

from openbus.codex.shadow import Shadow, compare, percentiles
from openbus.evidence import NativeStatus
from tests.openbus.codex.world import view

IDLE = NativeStatus(activity="idle")
ACTIVE = NativeStatus(activity="active")
WAITING = NativeStatus(activity="active", waiting=True, flags=("waitingOnApproval",))
ERROR = NativeStatus(activity="error")


@pytest.mark.parametrize(
    ("activity", "needs_you", "status", "expected"),
    [
        ("idle", False, IDLE, "agree"),
        ("working", False, ACTIVE, "agree"),
        ("waiting", True, WAITING, "agree"),
        ("error", False, ERROR, "agree"),
        ("waiting", False, ACTIVE, "agree"),
        ("waiting", True, IDLE, "screen_waiting_only"),
        ("waiting", True, ACTIVE, "screen_waiting_only"),
        ("idle", False, WAITING, "native_waiting_only"),
        ("working", False, WAITING, "native_waiting_only"),
        ("idle", False, ACTIVE, "native_active_screen_idle"),
        ("working", False, IDLE, "native_idle_screen_working"),
        ("idle", False, ERROR, "native_error_only"),
        ("error", False, IDLE, "screen_error_only"),
        ("unknown", False, IDLE, "not_comparable"),
        ("exited", False, IDLE, "not_comparable"),
        ("idle", False, NativeStatus(activity="unknown"), "not_comparable"),
        ("idle", False, NativeStatus(activity="not_loaded"), "not_comparable"),
        ("idle", False, None, "not_comparable"),
    ],
)
def test_one_moment(
    activity: str, needs_you: bool, status: NativeStatus | None, expected: str
) -> None:
    given = view(activity=activity, needs_you=needs_you)  # type: ignore[arg-type]
    assert compare(given, status) == expected


def test_a_difference_counts_once_it_has_lasted() -> None:
    shadow = Shadow()
    shadow.note("p", "agree", 0)
    shadow.note("p", "agree", 10_000)
    shadow.note("p", "native_active_screen_idle", 10_500)
    shadow.note("p", "agree", 11_000)
    shadow.note("p", "agree", 20_000)
    assert shadow.episodes == {"agree": 2}
    shadow.note("p", "native_active_screen_idle", 21_000)
    shadow.note("p", "native_active_screen_idle", 24_000)
    shadow.note("p", "native_active_screen_idle", 27_000)
    assert shadow.episodes["native_active_screen_idle"] == 1
    assert shadow.current("p") == "native_active_screen_idle"


def test_agreement_is_a_share_of_comparable_time() -> None:
    shadow = Shadow()
    assert shadow.agreement() is None
    for at, kind in (
        (0, "agree"),
        (3_000, "agree"),
        (3_000, "not_comparable"),
        (99_000, "native_waiting_only"),
        (100_000, "native_waiting_only"),
    ):
        shadow.note("p", kind, at)  # type: ignore[arg-type]
    assert shadow.agreement() == 0.75


def test_panes_that_are_gone_are_forgotten() -> None:
    shadow = Shadow()
    shadow.note("p", "agree", 0)
    shadow.keep([])
    assert shadow.current("p") == "not_comparable"


def test_percentiles() -> None:
    assert percentiles([]) is None
    assert percentiles([5]) == {"p50": 5, "p99": 5, "max": 5, "n": 1}
    assert percentiles(range(1, 101)) == {"p50": 50, "p99": 100, "max": 100, "n": 100}
