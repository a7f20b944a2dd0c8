"""Plain terminals: prompts, running commands, and the questions of programs on one line."""

import pytest

from openbus.classify import classify
from openbus.model import Cursor, Process, Reading
from tests.openbus.screen.support import library, shown


def read_line(line: str, *argv: str, above: tuple[str, ...] = (), **fields: object) -> Reading:
    """The reading of a pane whose cursor stands behind `line`; `argv` runs there, or nothing."""
    processes = (
        (Process(comm=argv[0].rsplit("/", 1)[-1], foreground=True, depth=1, argv=argv),)
        if argv
        else ()
    )
    cursor = Cursor(x=len(line), y=len(above))
    capture = shown(*above, line, processes=processes, cursor=cursor, **fields)
    return classify(capture, library())


@pytest.mark.parametrize(
    ("line", "argv", "kind"),
    [
        ("[sudo] password for me: ", ("sudo", "ls"), "password"),
        ("Enter passphrase for key '/home/me/.ssh/id': ", ("ssh", "box"), "password"),
        ("Do you want to continue? [Y/n] ", ("apt", "install"), "confirm"),
        ("Overwrite (y/N)? ", ("cp", "-i"), "confirm"),
        ("Proceed ([y]/n)? ", ("/usr/bin/python3", "/opt/conda/bin/conda"), "confirm"),
        (
            "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
            ("ssh", "box"),
            "confirm",
        ),
        ("rm: remove regular file 'a'? ", ("rm", "-i"), "confirm"),
        ("mv: replace 'b'? ", ("mv", "-i"), "confirm"),
        ("Press any key to continue...", ("./setup.sh",), "confirm"),
        ("Stage this hunk [y,n,q,a,d,e,?]? ", ("git", "add"), "confirm"),
        ("package name: (shop) ", ("npm", "init"), "prompt"),
        ("Username for 'https://example.org': ", ("git", "push"), "prompt"),
    ],
)
def test_a_program_that_asks_needs_you(line: str, argv: tuple[str, ...], kind: str) -> None:
    reading = read_line(line, *argv)
    assert reading.needs_you
    assert reading.question is not None
    assert reading.question.kind == kind
    assert reading.question.rows == (0, 0)


def test_read_of_the_shell_itself_asks_without_a_child() -> None:
    assert read_line("Do you want to proceed? [y/N] ").needs_you


def test_select_of_the_shell_lists_its_options() -> None:
    reading = read_line("Pick one: ", above=("1) staging", "2) production"))
    assert reading.question is not None
    assert reading.question.kind == "menu"
    assert [o.label for o in reading.question.options] == ["staging", "production"]


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("me@box:~$ git commit -m 'does it work?", ()),
        ("me@box:~$ echo '[y/N]", ()),
        ("me@box:~$ ", ()),
        ("❯ ", ()),
        ("is this ok? [y/N]", ("tail", "-f")),
        ("what now?", ("cat",)),
        ("me@far:~$ git commit -m 'does it work?", ("ssh", "box")),
        (">>> ", ("/usr/bin/python3",)),
        ("Compiling: ", ("make",)),
        ("12:01:44 fetching token: ", ("./deploy.sh",)),
    ],
)
def test_what_looks_like_a_question_is_none(line: str, argv: tuple[str, ...]) -> None:
    assert not read_line(line, *argv).needs_you


def test_a_question_further_up_is_history() -> None:
    assert not read_line("", "make", above=("Continue? [y/N] y", "building")).needs_you


def test_a_command_in_the_foreground_works_and_names_itself() -> None:
    reading = read_line("", "sleep", "300")
    assert (reading.activity, reading.detail) == ("working", "sleep")


def test_an_editor_is_idle_whatever_it_shows() -> None:
    reading = read_line("Proceed? [y/N] ", "vim", "notes")
    assert (reading.activity, reading.detail) == ("idle", "vim")


def test_a_repl_at_its_prompt_is_idle() -> None:
    assert read_line(">>> ", "python3").activity == "idle"
    assert read_line("sqlite> ", "sqlite3").activity == "idle"


def test_a_wait_for_a_lock_is_external() -> None:
    reading = read_line("Waiting for cache lock: held by 1234", "apt", "install")
    assert (reading.activity, reading.waiting_on) == ("waiting", "external")
    assert not reading.needs_you


def test_a_menu_of_an_unknown_program_asks_when_its_cursor_is_hidden() -> None:
    rows = ("? Deploy to production?", "❯ Yes", "  No", "", "Enter to confirm, Esc to cancel")
    child = Process(comm="deployer", foreground=True, depth=1, argv=("deployer",))
    hidden = shown(*rows, processes=(child,), cursor=Cursor(x=0, y=5, visible=False))
    assert classify(hidden, library()).needs_you
    printed = shown(*rows, processes=(child,), cursor=Cursor(x=0, y=5, visible=True))
    assert not classify(printed, library()).needs_you


def test_a_dead_pane_has_exited() -> None:
    assert read_line("Proceed? [y/N] ", dead=True).activity == "exited"


def test_a_remote_shell_is_idle_at_a_prompt_and_otherwise_unknown() -> None:
    assert read_line("me@far:~$ ", "ssh", "box").activity == "idle"
    assert read_line("some output", "ssh", "box").activity == "unknown"


def test_a_line_that_a_person_edits_at_an_unknown_prompt_is_no_question() -> None:
    line = "~/p main rm -rf foo? [y/N]"
    assert read_line(line, line_mode=True).needs_you
    assert not read_line(line, line_mode=False).needs_you
    assert read_line("Press any key to continue", line_mode=False).needs_you


def test_a_script_of_a_shell_is_a_program_of_its_own() -> None:
    assert read_line("Overwrite it? ", "bash", "setup").needs_you
    assert read_line("Overwrite it? ", "bash", "-c").needs_you
    assert not read_line("me@box:~$ is it? ", "bash", "--norc", "-i").needs_you


def test_an_answer_that_is_typed_and_not_sent_leaves_the_question_open() -> None:
    assert read_line("Continue? [y/N] y", "apt", "install").needs_you
