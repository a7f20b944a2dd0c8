"""`notify.toml`: what is wrong is named with its place, the rest is used, no secret is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from openbus.notify.post import Post
from openbus.notify.settings import NotifySettings, load


def loaded(tmp_path: Path, text: str, mode: int = 0o600, **environ: str) -> NotifySettings:
    path = tmp_path / "notify.toml"
    path.write_text(text)
    path.chmod(mode)
    return load({"OPENBUS_CONFIG_DIR": str(tmp_path), **environ})


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    found = load({"OPENBUS_CONFIG_DIR": str(tmp_path)})
    assert found.rules.kinds == {"needs_you", "limit", "error", "asked"}
    assert found.problems == ()
    assert [channel.name for channel in Post(found, tmp_path).channels] == ["none"]


def test_everything_can_be_said(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        """
        private = true
        quiet = "22:00-07:00"
        zone = "Europe/Berlin"
        per_hour = 10
        [kinds]
        done = true
        asked = false
        [channels.phone]
        url = "ntfys://host/topic"
        kinds = ["needs_you"]
        [channels.hook]
        command = ["~/bin/notify", "-x"]
        device = "desk"
        [channels.line]
        tmux = "both"
        [webpush]
        hosts = ["push.example.org"]
        """,
    )
    assert found.problems == ()
    assert found.rules.kinds == {"needs_you", "limit", "error", "done"}
    assert found.rules.quiet is not None and found.rules.quiet.zone == "Europe/Berlin"
    assert found.rules.private and found.rules.per_hour == 10
    channels = {channel.name: channel for channel in Post(found, tmp_path).channels}
    assert {name: channel.type for name, channel in channels.items()} == {
        "phone": "ntfy",
        "hook": "command",
        "line": "tmux",
    }
    assert channels["phone"].kinds == ("needs_you",)
    assert [channels[name].device for name in ("phone", "hook", "line")] == [
        "phone",
        "desk",
        "desk",
    ]


def test_a_file_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    found = loaded(tmp_path, '[channels.a]\nurl = "json://s3cret"', mode=0o644)
    assert found.channels == {}
    [problem] = found.problems
    assert "chmod 600" in problem and "s3cret" not in problem


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x = ", "not TOML"),
        ("nosuch = 1", "nosuch"),
        ("[kinds]\nneeds_you = 3", "kinds.needs_you"),
        ('quiet = "soon"', "quiet: 'soon'"),
        ('quiet = "22:00-07:00"\nzone = "Mars"', "'Mars'"),
        ("per_hour = 0", "per_hour"),
        ('[channels.a]\nurl = "s3cret://x"\ncommand = ["x"]', "[channels.a]: give exactly one"),
        ("[channels.a]", "[channels.a]: give exactly one"),
        ("[channels.a]\ncommand = []", "[channels.a]: give exactly one"),
        ('[channels.a]\ntmux = "loud"', "[channels.a]: Invalid enum value 'loud'"),
        ('[channels.a]\nurl = "json://x"\nkinds = ["all"]', "[channels.a]: Invalid enum"),
        ("channels = 3", "channels"),
    ],
)
def test_an_error_is_one_line_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    [problem] = loaded(tmp_path, text).problems
    assert place in problem and "s3cret" not in problem and "\n" not in problem


def test_one_bad_channel_leaves_the_others(tmp_path: Path) -> None:
    text = '[channels.bad]\nurl = "nosuch://s3cret"\n[channels.good]\nurl = "json://host"'
    post = Post(loaded(tmp_path, text), tmp_path)
    assert list(post.senders) == ["good"]
    [problem] = post.problems
    assert "[channels.bad] url" in problem and "s3cret" not in problem


def test_addresses_can_come_from_the_environment(tmp_path: Path) -> None:
    found = loaded(tmp_path, "", OPENBUS_NOTIFY_URLS="json://one ntfy://two")
    assert list(Post(found, tmp_path).senders) == ["env1", "env2"]
