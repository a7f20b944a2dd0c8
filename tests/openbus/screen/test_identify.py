"""Who runs in a pane: processes first, screen marks only behind a transport."""

import msgspec

from openbus.classify import classify
from openbus.model import Cursor, Process
from openbus.screen.identify import identify
from tests.openbus.screen.support import library, running, screen_file, shown


def process(comm: str, *argv: str, depth: int = 1, foreground: bool = True) -> Process:
    return Process(comm=comm, foreground=foreground, depth=depth, argv=argv or (comm,))


def program(*processes: Process, command: str = "") -> str:
    capture = shown("$", processes=processes, command=command)
    return identify(capture, ["$"], library()).program.name


def test_an_executable_names_its_program() -> None:
    assert program(process("codex", "/opt/bin/codex")) == "codex"


def test_a_script_of_an_interpreter_names_its_program() -> None:
    assert program(process("node", "node", "/usr/lib/node_modules/.bin/gemini")) == "gemini"


def test_an_argument_never_names_a_program() -> None:
    assert program(process("vim", "vim", "/home/me/codex")) == "shell"
    assert program(process("grep", "grep", "claude")) == "shell"


def test_a_helper_is_not_the_program() -> None:
    assert program(process("codex", "/x/codex", "app-server")) == "shell"


def test_a_background_process_is_not_the_program() -> None:
    assert program(process("codex", foreground=False)) == "shell"


def test_the_outer_of_two_agents_wins() -> None:
    inner = process("claude", depth=3)
    assert program(process("codex", depth=1), inner) == "codex"


def test_the_command_names_the_program_where_processes_are_unknown() -> None:
    assert program(command="opencode") == "opencode"


def test_a_quoted_agent_in_a_plain_terminal_is_a_shell() -> None:
    file = screen_file("shell/plain/cat_codex_dialog--80x24")
    assert classify(file.capture, library()).program.name == "shell"


def test_an_agent_behind_ssh_is_named_with_low_confidence() -> None:
    capture = screen_file("codex/0.171.0/approval_shell--80x24").capture
    remote = msgspec.structs.replace(capture, processes=(process("ssh", "ssh", "box"),))
    reading = classify(remote, library())
    assert reading.program.name == "codex"
    assert reading.program.confidence == "low"
    assert reading.needs_you


def test_an_old_agent_screen_at_a_remote_prompt_is_unknown() -> None:
    capture = screen_file("shell/plain/cat_codex_dialog--80x24").capture
    remote = msgspec.structs.replace(capture, processes=(process("ssh", "ssh", "box"),))
    reading = classify(remote, library())
    assert not reading.needs_you


def test_a_stale_spinner_title_of_a_shell_decides_nothing() -> None:
    capture = shown("$ ", title="⠋ build", cursor=Cursor(x=2, y=0))
    assert classify(capture, library()).activity == "idle"
    agent = running("codex", "› ", title="⠋ build", cursor=Cursor(x=2, y=0))
    assert classify(agent, library()).activity == "working"
