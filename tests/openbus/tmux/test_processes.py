from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from openbus.tmux.processes import (
    MAX_DEPTH,
    MAX_PROCESSES,
    Entry,
    ProcessTable,
    parse_stat,
    read_ps,
)
from tests.openbus.tmux.lab import SHOWN, Lab


def _entry(pid: int, parent: int, comm: str, group: int, tty: int = 5, holder: int = 20) -> Entry:
    return Entry(pid=pid, parent=parent, comm=comm, group=group, tty=tty, terminal_group=holder)


def _seen(table: ProcessTable, pid: int = 10) -> list[tuple[str, int, bool]]:
    return [(p.comm, p.depth, p.foreground) for p in table.below(pid)]


@pytest.mark.parametrize("comm", ["bash", "a b", "we(ird) ) S 1 2", "", "(sd-pam)", "x\ny"])
def test_stat_lines_are_read_whatever_the_name_holds(comm: str) -> None:
    line = f"42 ({comm}) S 7 42 40 34817 43 4194304 1 2 3".encode()
    assert parse_stat(line) == Entry(
        pid=42, parent=7, comm=comm, group=42, tty=34817, terminal_group=43
    )


@pytest.mark.parametrize("line", [b"", b"42", b"42 (x", b"42 (x) S 1"])
def test_a_stat_line_that_is_cut_is_no_process(line: bytes) -> None:
    assert parse_stat(line) is None


def test_foreground_is_the_terminals_group_and_depth_counts_from_the_pane() -> None:
    table = ProcessTable(
        [
            _entry(10, 1, "bash", 10),
            _entry(20, 10, "node", 20),
            _entry(21, 20, "codex", 20),
            _entry(30, 10, "job", 30),
            _entry(40, 21, "mcp", 40, tty=0, holder=-1),
            _entry(99, 1, "stranger", 99),
        ]
    )
    assert _seen(table) == [
        ("bash", 0, False),
        ("node", 1, True),
        ("job", 1, False),
        ("codex", 2, True),
        ("mcp", 3, False),
    ]


def test_behind_a_terminal_of_its_own_the_way_down_counts() -> None:
    def nested(script_group: int) -> ProcessTable:
        return ProcessTable(
            [
                _entry(10, 1, "bash", 10),
                _entry(20, 10, "script", script_group),
                _entry(30, 20, "agent", 30, tty=6, holder=30),
            ]
        )

    assert _seen(nested(20))[-1] == ("agent", 2, True)
    assert _seen(nested(21))[-1] == ("agent", 2, False)


def test_a_pane_whose_process_has_gone_has_no_processes() -> None:
    assert ProcessTable([]).below(10) == ()


def test_a_crowd_is_cut_and_the_nearest_are_kept() -> None:
    many = [_entry(1000 + n, 21, f"cc{n}", 20) for n in range(500)]
    chain = [_entry(3000 + n, 2999 + n, "deep", 20) for n in range(1, 40)]
    table = ProcessTable([_entry(10, 1, "bash", 10), _entry(21, 10, "make", 20), *many])
    assert len(table.below(10)) == MAX_PROCESSES
    assert _seen(table)[1] == ("make", 1, True)
    deep = ProcessTable([_entry(3000, 1, "bash", 10), *chain]).below(3000)
    assert max(process.depth for process in deep) == MAX_DEPTH


def test_parents_in_a_circle_end() -> None:
    table = ProcessTable([_entry(10, 11, "a", 20), _entry(11, 10, "b", 20)])
    assert len(table.below(10)) == 2


def test_a_pane_shows_its_own_process_and_the_one_in_front(lab: Lab) -> None:
    lab.start("sh -ic 'sleep 1000 & sleep 999'")
    pid, tty = lab.tmux("display-message", "-p", "#{pane_pid} #{pane_tty}").split(" ")
    lab.until(lambda: len(ProcessTable.take().below(int(pid), tty)) >= 3)
    for table in (ProcessTable.take(), ProcessTable.take_below([int(pid)])):
        found = table.below(int(pid), tty)
        assert found[0].depth == 0
        assert found[0].pid == int(pid)
        assert {p.foreground for p in found if p.comm == "sleep"} == {True, False}
        assert all(p.argv == ("sleep",) for p in found if p.comm == "sleep")


def test_a_process_whose_parent_has_gone_is_found_by_its_terminal(lab: Lab) -> None:
    lab.start(f"(sleep 998 &); {SHOWN}")
    pid, tty = lab.tmux("display-message", "-p", "#{pane_pid} #{pane_tty}").split(" ")

    def found() -> list[str]:
        return [p.comm for p in ProcessTable.take().below(int(pid), tty)]

    lab.until(lambda: found().count("sleep") == 2)
    assert [p.depth for p in ProcessTable.take().below(int(pid), tty)] == [0, 1]
    assert len(ProcessTable.take().below(int(pid))) == 1


def test_ps_tells_the_same_as_proc() -> None:
    with subprocess.Popen(["sleep", "1000"]) as child:
        by_ps = {entry.pid: entry for entry in read_ps()}[child.pid]
        by_proc = parse_stat(Path(f"/proc/{child.pid}/stat").read_bytes())
        child.kill()
    assert by_ps == by_proc


def test_without_proc_the_table_comes_from_ps(tmp_path: Path) -> None:
    own = ProcessTable.take(tmp_path).below(os.getpid())[0]
    assert own.pid == os.getpid()
    assert own.argv[0]
    assert ProcessTable.take_below([os.getpid()], tmp_path).below(os.getpid())[0] == own
