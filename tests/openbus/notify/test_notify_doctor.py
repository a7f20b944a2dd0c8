"""`openbus doctor` warns when a needs-you reaches nobody."""

from __future__ import annotations

from pathlib import Path

from openbus.notify.devices import Devices
from openbus.notify.doctor import check_notifications
from tests.openbus.notify.push_service import Browser
from tests.openbus.notify.test_settings import loaded
from tests.openbus.notify.test_webpush import add


def found(tmp_path: Path, text: str) -> list[tuple[bool, str]]:
    checks = check_notifications(loaded(tmp_path, text), tmp_path)
    return [(check.ok, check.detail) for check in checks]


def test_no_way_to_a_person_is_a_warning(tmp_path: Path) -> None:
    [(ok, detail)] = found(tmp_path, "")
    assert not ok and "nobody is told" in detail
    [(ok, detail)] = found(tmp_path, "[channels.a]\ntmux = 'bell'\nkinds = ['done']")
    assert not ok and "nobody is told" in detail
    [(ok, detail)] = found(tmp_path, "[kinds]\nneeds_you = false\n[channels.a]\ntmux = 'bell'")
    assert not ok and "switched off" in detail


def test_a_channel_or_a_browser_is_enough(tmp_path: Path) -> None:
    assert found(tmp_path, "[channels.a]\ntmux = 'bell'") == [(True, "needs-you is told by a")]
    add(Devices(tmp_path), Browser())
    assert found(tmp_path, "") == [(True, "needs-you is told by 1 paired for Web Push")]


def test_a_part_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    checks = found(tmp_path, "[channels.a]\nurl = 'nosuch://s3cret'")
    assert [ok for ok, _ in checks] == [False, False]
    assert "[channels.a] url" in checks[1][1] and "s3cret" not in checks[1][1]


def test_looking_creates_nothing(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    check_notifications(loaded(tmp_path / "config", ""), tmp_path / "state")
    assert not (tmp_path / "state").exists()
