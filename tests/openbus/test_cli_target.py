"""PANE on the command line."""

from __future__ import annotations

from urllib.parse import quote

import msgspec
import pytest

from openbus.cli.errors import CommandError
from openbus.cli.target import find
from openbus.model import Pane, Server, Window

FIRST = Pane(
    key="vm:default:10-20:%3:40",
    id="%3",
    server=Server(socket="/tmp/tmux-0/default", pid=10, started=20),
    pid=40,
    session="main",
    window=Window(index=1, name="work"),
    index=2,
)
OTHER_SERVER = msgspec.structs.replace(
    FIRST,
    key="vm:side:11-21:%3:41",
    server=Server(socket="/tmp/tmux-0/side", pid=11, started=21),
    pid=41,
)
NEIGHBOUR = msgspec.structs.replace(FIRST, key="vm:default:10-20:%4:42", id="%4", index=3)
ALL = [FIRST, OTHER_SERVER, NEIGHBOUR]


@pytest.mark.parametrize(
    ("target", "pane"),
    [
        ("%4", NEIGHBOUR),
        ("default:%3", FIRST),
        ("side:%3", OTHER_SERVER),
        ("/tmp/tmux-0/side:%3", OTHER_SERVER),
        ("main:1.3", NEIGHBOUR),
        ("main:work.3", NEIGHBOUR),
        ("side:main:1.2", OTHER_SERVER),
        (FIRST.key, FIRST),
        (quote(FIRST.key, safe=""), FIRST),
    ],
)
def test_each_form_names_its_pane(target: str, pane: Pane) -> None:
    assert find(target, ALL) == pane


@pytest.mark.parametrize("target", ["%3", "main:1.2"])
def test_an_ambiguous_target_lists_the_candidates(target: str) -> None:
    with pytest.raises(CommandError) as caught:
        find(target, ALL)
    assert caught.value.status == 2
    text = "\n".join(caught.value.lines)
    assert FIRST.key in text
    assert OTHER_SERVER.key in text
    assert NEIGHBOUR.key not in text


@pytest.mark.parametrize("target", ["%9", "", "main", "nope:%3", "main:1.9", "%"])
def test_no_such_pane_is_a_failure_that_says_where_to_look(target: str) -> None:
    with pytest.raises(CommandError, match="openbus ls") as caught:
        find(target, ALL)
    assert caught.value.status == 1
