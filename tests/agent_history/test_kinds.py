"""A call's kind: one icon per kind, and never `read` for what could write."""

from __future__ import annotations

import pytest

from agent_history.kinds import kind_of_call, kind_of_command, kind_of_tool, mcp_server


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Read", "read"), ("view_file", "read"), ("Grep", "search"), ("Glob", "search"),
        ("Edit", "edit"), ("apply_patch", "edit"), ("MultiEdit", "edit"), ("Write", "edit"),
        ("Bash", "execute"), ("exec_command", "execute"), ("local-shell", "execute"),
        ("WebFetch", "fetch"), ("Agent", "agent"), ("Task", "agent"), ("spawn_agent", "agent"),
        ("TodoWrite", "plan"), ("update_plan", "plan"), ("TaskCreate", "plan"),
        ("AskUserQuestion", "communicate"), ("request_user_input", "communicate"),
        ("ExitPlanMode", "switch_mode"), ("think", "think"), ("NoSuchTool", "other"),
        ("mcp__github__read", "other"),
    ],
)  # fmt: skip
def test_kinds_by_name_without_case_spaces_or_dashes(name: str, kind: str) -> None:
    assert kind_of_tool(name) == kind


def test_an_mcp_tool_names_its_server() -> None:
    assert mcp_server("mcp__git_hub__list__prs") == "git_hub"
    assert mcp_server("Bash") is None


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py", "cat a.py | head -20", "sed -n 10,20p a.py", "sed -n '1p;5,9p' a.py",
        "git -C /x --no-pager log", "git diff HEAD", "cat a && tail -3 b", "wc -l < a",
        "cat a 2>/dev/null", "cat a 2>&1 | sort | uniq", "cd src && cat a", "less a", "nl a; cat b",
    ],
)  # fmt: skip
def test_commands_that_only_read(command: str) -> None:
    assert kind_of_command(command) == "read"


@pytest.mark.parametrize(
    "command",
    ["rg TODO", "find . -name '*.py'", "ls -la", "git grep x", "fd py | head", "tree -L 2",
     "grep -r 'a|b' src", "rg \"a && b\""],
)  # fmt: skip
def test_commands_that_only_search(command: str) -> None:
    assert kind_of_command(command) == "search"


@pytest.mark.parametrize(
    ("command", "kind"),
    [("rm -rf build", "delete"), ("git rm a", "delete"), ("mv a b", "move"), ("git mv a b", "move"),
     ("rm a && rm b", "delete")],
)  # fmt: skip
def test_commands_that_only_delete_or_move(command: str, kind: str) -> None:
    assert kind_of_command(command) == kind


@pytest.mark.parametrize(
    "command",
    [
        # a redirect into a file, substitution, background, a pipe into more than a filter
        "cat a > b", "cat a >> b", "cat a 1> b", "cat $(which a)", "cat `which a`", "cat a &",
        "cat a | sh", "cat a | tee b", "cat a | xargs rm", "cat <(ls)", 'cat "$(ls)"',
        # options that write or run
        "find . -exec rm {} ;", "find . -delete", "find . -fprint out", "find . -execdir a ;",
        "find . -ok rm {} ;", "fd x -x rm", "fd -X rm", "fd --exec rm", "rg --pre ./run x",
        "tree -o out", "less -o log a", "sort -o a a", "sort -uo a a", "sort --output=a a",
        "uniq a b", "cat a | sort -o b", "cat a | uniq - b",
        # sed that does more than print
        "sed -i s/a/b/ a", "sed s/a/b/ a", "sed -n '1,5w out' a", "sed -n e a", "sed -f x a",
        # mixed kinds, unknown steps, unbalanced quotes, nothing
        "cat a && rm b", "cat a; make", "make", "python -c 'print(1)'", "echo 'a", "", "&&",
        "FOO=1 cat a", "git grep -O x", "bat --pager=./x a", "rg --hostname-bin=x y",
        "(cat a)", "if true; then cat a; fi", "git push", "git diff --output=x", "git -c a=b log",
        "cat a\nrm b",
    ],
)  # fmt: skip
def test_anything_else_stays_execute(command: str) -> None:
    assert kind_of_command(command) == "execute"


def test_a_command_that_was_cut_is_execute() -> None:
    assert kind_of_call("Bash", "cat a", was_cut=True) == "execute"
    assert kind_of_call("Bash", "cat a") == "read"
    assert kind_of_call("Read", "rm a") == "read", "only shells look at a command"
