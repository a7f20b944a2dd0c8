from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from openbus.tmux.servers import Discovery, discover, socket_folder
from tests.openbus.tmux.lab import SHOWN, Lab


def _find(lab: Lab, names: tuple[str, ...] = (), paths: tuple[str, ...] = ()) -> Discovery:
    return discover(names, paths, environ=lab.environment())


def test_all_servers_of_the_folder_are_found_the_default_first(lab: Lab) -> None:
    for name in ("work", "default", "a"):
        lab.start(SHOWN, name=name)
    found = _find(lab)
    assert [ref.label for ref in found.servers] == ["default", "a", "work"]
    assert found.servers[0].socket == lab.path("default")
    assert found.problems == ()


def test_looking_for_servers_leaves_them_as_they_were(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    before = lab.tmux("list-sessions", "-F", "#{session_id} #{session_activity} #{pid}")
    for _ in range(200):
        assert len(_find(lab).servers) == 1
    assert lab.tmux("list-sessions", "-F", "#{session_id} #{session_activity} #{pid}") == before


def test_named_sockets_are_the_only_ones_looked_at(lab: Lab) -> None:
    lab.start(SHOWN, name="a")
    lab.start(SHOWN, name="b")
    assert [ref.label for ref in _find(lab, names=("b",)).servers] == ["b"]
    assert [ref.label for ref in _find(lab, paths=(lab.path("a"),)).servers] == ["a"]
    assert len(_find(lab, names=("a",), paths=(lab.path("a"),)).servers) == 1


def test_the_server_we_run_in_is_found_wherever_its_socket_is(lab: Lab) -> None:
    lab.start(SHOWN, name="../elsewhere")
    environment = lab.environment(TMUX=f"{lab.folder}/elsewhere,123,0")
    assert [ref.label for ref in discover(environ=environment).servers] == ["elsewhere"]


def test_bad_sockets_are_named_and_the_others_still_given(lab: Lab) -> None:
    lab.start(SHOWN, name="good")
    lab.start(SHOWN, name="stale")
    lab.kill("stale")
    Path(lab.path("note.txt")).write_text("x")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(lab.path("foreign"))
        other.listen()
        os.chown(lab.path("foreign"), 54321, 54321)
        found = _find(lab)
    assert [ref.label for ref in found.servers] == ["good"]
    texts = {problem.kind: problem.text for problem in found.problems}
    assert set(texts) == {"stale", "foreign", "not_a_socket"}
    assert "it belongs to uid 54321; run OpenBus as the user who owns it" in texts["foreign"]
    assert f"remove it with `rm {lab.path('stale')}`" in texts["stale"]
    assert "note.txt: it is not a socket" in texts["not_a_socket"]
    assert all("\n" not in text for text in texts.values())


def test_a_named_socket_that_is_not_there_is_said_so(lab: Lab) -> None:
    (problem,) = _find(lab, names=("nope",)).problems
    assert problem.kind == "absent"
    assert problem.text.startswith(f"no tmux server at {lab.path('nope')}: there is no such socket")


def test_no_server_at_all_is_one_line(lab: Lab) -> None:
    found = _find(lab)
    assert found.servers == ()
    assert [problem.kind for problem in found.problems] == ["absent"]
    assert "no tmux server is running" in found.problems[0].text


def test_without_a_tmux_program_nothing_is_found(lab: Lab) -> None:
    found = discover(binary="no-tmux-here", environ=lab.environment())
    assert [problem.kind for problem in found.problems] == ["missing"]


def test_a_stopped_server_with_a_full_queue_is_still_there(lab: Lab) -> None:
    pid = lab.start(SHOWN)
    os.kill(pid, signal.SIGSTOP)
    for _ in range(140):
        found = _find(lab)
    assert [ref.label for ref in found.servers] == ["work"]
    os.kill(pid, signal.SIGCONT)
    assert lab.tmux("list-panes", "-a", "-F", "#{pane_id}") == "%0"


def test_sockets_of_one_name_get_labels_that_differ_and_stay(lab: Lab) -> None:
    lab.start(SHOWN, name="work")
    (lab.folder / "x").mkdir()
    lab.start(SHOWN, name="../x/work")
    outside = str(lab.folder / "x" / "work")
    labels = [ref.label for ref in _find(lab, names=("work",), paths=(outside,)).servers]
    assert labels[0] == "work"
    assert labels[1].startswith("work~")
    assert [ref.label for ref in _find(lab, paths=(outside,)).servers] == labels[1:]


def test_a_path_that_is_too_long_for_a_socket_is_a_problem(lab: Lab) -> None:
    long = lab.folder / ("d" * 100)
    long.mkdir()
    real = Path(lab.path("good"))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(real))
        os.rename(real, long / "good")
        (problem,) = _find(lab, paths=(str(long / "good"),)).problems
    assert problem.kind == "failed"
    assert "too long" in problem.text


def test_a_name_that_is_no_text_is_a_problem_of_its_own(lab: Lab) -> None:
    Path(os.fsdecode(os.fsencode(lab.path()) + b"\xff\n")).touch()
    (problem,) = _find(lab).problems
    assert problem.text.encode()
    assert "\n" not in problem.text


@pytest.mark.parametrize(
    ("environment", "base"),
    [({}, "/tmp"), ({"TMUX_TMPDIR": "/nowhere/at/all"}, "/tmp"), ({"TMUX_TMPDIR": "/var"}, "/var")],
)
def test_the_folder_follows_tmuxs_own_rule(environment: dict[str, str], base: str) -> None:
    assert socket_folder(environment) == Path(base) / f"tmux-{os.geteuid()}"
