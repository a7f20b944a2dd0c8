"""Which thread a pane shows, and when nobody can know."""

from __future__ import annotations

from pathlib import Path

import pytest

from openbus import corpus
from openbus.codex.binding import (
    Held,
    ServerFacts,
    Shown,
    Thread,
    birth,
    decide,
    remember,
    shown,
    status_line_id,
)
from openbus.evidence import Binding, Generation, Scope
from openbus.screen.grid import parse
from tests.openbus.codex.world import DIALOG_ROWS, A, B, C, idle_rows, tui

CORPUS = Path(__file__).parents[3] / "evals" / "corpus" / "codex"
SCOPE = Scope(host="here", uid=1000, endpoint="/run/s", home="/home/dev/.codex")
GENERATION = Generation(server_pid=10, inode=1)
BORN = birth(A) or 0


def thread(thread_id: str = A, **fields: object) -> Thread:
    given: dict[str, object] = {"id": thread_id, "loaded": True, "cwd": "/home/dev/proj", **fields}
    return Thread(**given)  # type: ignore[arg-type]


def server(*threads: Thread, **fields: object) -> ServerFacts:
    given: dict[str, object] = {
        "scope": SCOPE,
        "generation": GENERATION,
        "peer": True,
        "complete": True,
        "threads": {t.id: t for t in threads},
        **fields,
    }
    return ServerFacts(**given)  # type: ignore[arg-type]


def look(
    rows: tuple[str, ...] = (),
    title: str = "",
    *,
    dialog: bool = False,
    cwd: str = "/home/dev/proj",
) -> Shown:
    return shown(rows, title, dialog=dialog, cwd=cwd)


OLD = tui(started_at=BORN - 3_600_000)
"""A TUI that started long before the thread was made."""


# --- what the terminal shows


def test_the_status_line_is_the_lowest_block_below_the_composer() -> None:
    assert status_line_id(list(idle_rows(A))) == A
    assert status_line_id(list(idle_rows(None))) is None


def test_blank_rows_at_the_end_do_not_hide_the_status_line() -> None:
    assert status_line_id([*idle_rows(A), "", "", ""]) == A


@pytest.mark.parametrize(
    "rows",
    [
        idle_rows(None, f"• The session is {B}"),
        idle_rows(None, "• Sessions", f"  one · two · {B}"),
        (*idle_rows(None)[:-4], "› look at", f"  {B}", "", *idle_rows(None)[-2:]),
        ("› one", "", f"  {B}"),
        ("› one", "", f"GPT · {B}"),
        (f"  GPT · ~/proj · {B}",),
        ("› one", "", f"  GPT · {B}", "  two", "  three"),
        ("› one", "", f"  GPT · {A} · {B}"),
        ("› one", "", f"  GPT · see {B}"),
    ],
)
def test_an_id_anywhere_else_is_a_quotation(rows: tuple[str, ...]) -> None:
    assert status_line_id(list(rows)) is None


@pytest.mark.parametrize(
    ("title", "found"),
    [
        (f"{A[:29]}...", A[:29]),
        (f"⠹ {A[:29]}...", A[:29]),
        (f"⠏ ⠦ | {A[:29]}...", A[:29]),
        (f"[ ! ] Action Required | {A[:29]}...", A[:29]),
        (A, A),
        (f"look at {A}", None),
        (f"{A[:20]}...", None),
        (f"{A} | {B}", None),
        ("proj", None),
        ("", None),
    ],
)
def test_the_title_carries_the_beginning_of_an_id(title: str, found: str | None) -> None:
    assert look(title=title).title == found


def test_no_labelled_screen_of_the_corpus_yields_an_id() -> None:
    """They include `/status`, listings of other threads and quoted transcripts."""
    looked = 0
    for path in sorted(CORPUS.rglob("*.json")):
        capture = corpus.read(path).capture
        rows = parse(capture.ansi, capture.width, capture.height).lines
        found = shown(rows, capture.title, dialog=False, cwd="")
        assert (found.status, found.title) == (None, None), path
        looked += 1
    assert looked > 300


# --- embedded


def test_an_embedded_tui_is_bound_by_its_open_files() -> None:
    found = decide(tui(embedded=(A,)), look(), None, None)
    assert found == Binding(verdict="bound", how="open files", thread=A)


def test_open_files_follow_a_new_thread_in_the_same_process() -> None:
    assert decide(tui(embedded=(B,)), look(), None, None).thread == B


def test_several_open_threads_need_a_visible_id() -> None:
    both = tui(embedded=(A, B))
    assert decide(both, look(), None, None).verdict == "ambiguous"
    assert decide(both, look(idle_rows(B)), None, None).thread == B
    assert decide(both, look(title=f"{A[:29]}..."), None, None).thread == A
    assert decide(both, look(idle_rows(C)), None, None).verdict == "ambiguous"


# --- visible


def test_the_id_in_the_status_line_binds() -> None:
    found = decide(OLD, look(idle_rows(A)), server(thread(A), thread(B)), None)
    assert found == Binding(verdict="bound", how="status line", thread=A)


def test_the_beginning_of_an_id_in_the_title_binds() -> None:
    found = decide(OLD, look(title=f"{A[:29]}..."), server(thread(A), thread(B)), None)
    assert found == Binding(verdict="bound", how="title", thread=A)


def test_both_agree() -> None:
    found = decide(OLD, look(idle_rows(A), f"{A[:29]}..."), server(thread(A)), None)
    assert found.how == "status line and title"


def test_both_differ() -> None:
    facts = server(thread(A), thread(B))
    found = decide(OLD, look(idle_rows(A), f"{B[:29]}..."), facts, None)
    assert found.verdict == "ambiguous" and found.candidates == (A, B)
    found = decide(OLD, look(idle_rows(A), f"{C[:29]}..."), facts, None)
    assert found.verdict == "ambiguous" and found.thread is None


def test_a_beginning_that_fits_two_threads_is_ambiguous() -> None:
    twin = A[:-4] + "ffff"
    found = decide(OLD, look(title=f"{A[:29]}..."), server(thread(A), thread(twin)), None)
    assert found.verdict == "ambiguous"


def test_an_id_that_the_server_has_not_loaded_does_not_bind() -> None:
    assert decide(OLD, look(idle_rows(A)), server(thread(B)), None).verdict == "none"


def test_a_tui_that_is_no_client_of_the_server_does_not_bind() -> None:
    facts = server(thread(A), peer=False)
    assert decide(OLD, look(idle_rows(A)), facts, None).verdict == "none"


def test_an_ephemeral_helper_is_not_what_a_pane_shows() -> None:
    facts = server(thread(A, ephemeral=True))
    assert decide(OLD, look(idle_rows(A)), facts, None).verdict == "none"


def test_a_thread_named_after_a_foreign_id_does_not_bind_to_it() -> None:
    facts = server(thread(A), thread(B, name=f"{A}"))
    found = decide(OLD, look(title=f"{A[:29]}..."), facts, None)
    assert found.verdict == "none" and "quoted" in found.how


def test_an_id_is_not_believed_before_all_names_are_known() -> None:
    facts = server(thread(A), complete=False)
    found = decide(OLD, look(idle_rows(A)), facts, None)
    assert found.verdict == "none" and found.how == "checking names"


def test_two_panes_may_show_one_thread() -> None:
    facts = server(thread(A))
    for number in (1, 2):
        found = decide(tui(number, started_at=0), look(idle_rows(A)), facts, None)
        assert found.thread == A


# --- held through a dialog


def bound_then_dialog(**changes: object) -> Binding:
    facts = server(thread(A), thread(B))
    first = decide(OLD, look(idle_rows(A)), facts, None)
    held = remember(first, OLD, facts, None)
    assert held is not None
    later = {"tui": OLD, "server": facts, "seen": look(DIALOG_ROWS, dialog=True), **changes}
    return decide(later["tui"], later["seen"], later["server"], held)  # type: ignore[arg-type]


def test_a_dialog_does_not_lose_the_thread_but_marks_the_claim() -> None:
    found = bound_then_dialog()
    assert found.verdict == "bound" and found.thread == A
    assert found.held and not found.usable and found.how == "held: status line"


def test_a_held_claim_ends_with_the_dialog() -> None:
    assert bound_then_dialog(seen=look(idle_rows(None))).verdict == "none"


def test_a_held_claim_ends_with_the_process() -> None:
    other = tui(pid=OLD.pid, ticks=OLD.ticks + 1, started_at=OLD.started_at)
    assert bound_then_dialog(tui=other).verdict == "none"


def test_a_held_claim_ends_with_the_server() -> None:
    facts = server(thread(A), generation=Generation(server_pid=11, inode=2))
    assert bound_then_dialog(server=facts).verdict == "none"


def test_a_held_claim_ends_when_the_thread_is_unloaded() -> None:
    assert bound_then_dialog(server=server(thread(B))).verdict == "none"


def test_another_id_in_the_title_wins_over_a_held_claim() -> None:
    seen = look(DIALOG_ROWS, f"[ ! ] Action Required | {B[:29]}...", dialog=True)
    found = bound_then_dialog(seen=seen)
    assert found.thread == B and not found.held


def test_without_the_server_a_proved_claim_is_stale() -> None:
    assert bound_then_dialog(server=None) == Binding(
        verdict="stale", how="the server does not answer", thread=A
    )
    assert decide(OLD, look(idle_rows(A)), None, None).verdict == "none"


def test_a_held_claim_can_be_carried_from_dialog_to_dialog() -> None:
    facts = server(thread(A))
    first = decide(OLD, look(idle_rows(A)), facts, None)
    held = remember(first, OLD, facts, None)
    second = decide(OLD, look(DIALOG_ROWS, dialog=True), facts, held)
    assert remember(second, OLD, facts, held) == held
    none = decide(OLD, look(idle_rows(None)), facts, held)
    assert remember(none, OLD, facts, held) is None
    assert isinstance(held, Held)


# --- candidates


FRESH = tui(started_at=BORN - 1_500)


def test_one_thread_born_with_the_tui_in_its_folder_is_a_candidate_never_bound() -> None:
    found = decide(FRESH, look(), server(thread(A), thread(B)), None)
    assert found.verdict == "candidate" and found.candidates == (A,) and found.thread is None


@pytest.mark.parametrize(
    "other",
    [
        {"cwd": "/home/dev/other"},
        {"ephemeral": True},
        {"parent": B},
        {"loaded": False},
        {"name": "Fix the parser"},
    ],
)
def test_what_does_not_fit_is_no_candidate(other: dict[str, object]) -> None:
    seen = look(title="Write the docs | proj")
    assert decide(FRESH, seen, server(thread(A, **other)), None).verdict == "none"


def test_the_name_in_the_title_must_not_contradict() -> None:
    facts = server(thread(A, name="Fix the parser of configuration files"))
    seen = look(title="⠹ Fix the parser of... | proj")
    seen = look(title="Fix the parser of... | proj")
    assert decide(FRESH, seen, facts, None).verdict == "candidate"
    assert decide(FRESH, look(title="proj"), facts, None).verdict == "candidate"


def test_two_threads_that_fit_are_ambiguous() -> None:
    twin = A[:13] + "-7d00-8000-000000000001"
    found = decide(FRESH, look(), server(thread(A), thread(twin)), None)
    assert found.verdict == "ambiguous"


def test_two_panes_that_fit_are_ambiguous() -> None:
    rival = tui(2, started_at=FRESH.started_at + 500)
    found = decide(FRESH, look(), server(thread(A)), None, (FRESH, rival))
    assert found.verdict == "ambiguous" and found.how == "several panes fit"


def test_an_older_or_younger_tui_has_no_candidate() -> None:
    for started in (BORN - 60_000, BORN + 60_000):
        assert decide(tui(started_at=started), look(), server(thread(A)), None).verdict == "none"


def test_birth_comes_from_the_id() -> None:
    assert birth("01a22e50-c83d-7c33-86b0-29c578021e9b") == 0x01A22E50C83D
    assert birth("not-an-id") is None
