"""The comparison of a live session with its truth, and the labels that the truth is made of."""

from pathlib import Path

from typer.testing import CliRunner

from evals.lab import label
from evals.lab.cli import app
from evals.lab.live import FLOWS, Outcome, span_of
from evals.lab.live_cli import details, table
from evals.lab.live_score import Finding, Score, Seen, Shown, Span, Told, percentile, score
from evals.lab.live_service import LOOKING, LiveService
from evals.lab.lookout import look
from evals.lab.record import AGENTS
from openbus.client import ServerSent

IDLE, ASK, AFTER = (
    span_of("idle_empty", label.idle("codex"), 5, 8),
    span_of("approval_shell", label.waiting("codex", "approval"), 21, 24),
    span_of("idle_done", label.idle("codex"), 30, 34),
)
SPANS = (IDLE, ASK, AFTER)
SEEN = (
    Seen(at=1, what="free"),
    Seen(at=10, what="working"),
    Seen(at=20, what="waiting"),
    Seen(at=24.5, what="working"),
    Seen(at=27, what="free"),
)
SHOWN = (
    Shown(at=4, activity="idle", needs_you=False),
    Shown(at=10.1, activity="working", needs_you=False),
    Shown(at=20.2, activity="waiting", needs_you=True),
    Shown(at=25, activity="working", needs_you=False),
    Shown(at=27.5, activity="idle", needs_you=False),
)


def told(at: float, event: str, attention: str, contract: str = "a/1", ours: bool = True) -> Told:
    return Told(at=at, event=event, attention=attention, contract=contract, ours=ours)


TOLD = (
    told(20.5, "announce", "needs_you"),
    told(25.2, "withdraw", "needs_you"),
    told(30.5, "announce", "done", "d/1"),
)


def found(
    spans: tuple[Span, ...] = SPANS,
    shown: tuple[Shown, ...] = SHOWN,
    events: tuple[Told, ...] = TOLD,
) -> list[tuple[str, str]]:
    return [(f.what, f.name) for f in score(spans, SEEN, shown, events).findings]


def test_a_session_that_was_followed_has_no_finding_and_its_delays() -> None:
    result = score(SPANS, SEEN, SHOWN, TOLD)
    assert result.findings == ()
    assert (result.spans, result.asks) == (3, 1)
    assert [round(delay, 3) for delay in result.ask_delays] == [0.2]
    assert [round(delay, 3) for delay in result.push_delays] == [0.5]
    # The first span stood before the lookout came: nobody saw it painted.
    assert [round(delay, 3) for delay in result.state_delays] == [0.5]


def test_an_ask_that_was_not_published_is_missed() -> None:
    shown = tuple(state for state in SHOWN if not state.needs_you)
    assert found(shown=shown) == [("missed ask", "approval_shell")]


def test_an_ask_that_was_not_announced_is_missed() -> None:
    assert found(events=TOLD[2:]) == [("missed ask", "approval_shell")]


def test_needs_you_beside_a_free_composer_is_false() -> None:
    shown = (*SHOWN, Shown(at=31, activity="waiting", needs_you=True))
    assert found(shown=shown) == [("false ask", "idle_done"), ("false ask", "idle_done")]


def test_a_dialog_that_only_the_lookout_saw_may_be_published_and_announced() -> None:
    assert found(spans=(IDLE, AFTER)) == []


def test_an_announcement_of_nothing_is_false() -> None:
    done = told(6, "announce", "done", "x/1")
    assert found(events=(done, *TOLD)) == [("false push", "idle_empty")]
    ask = (told(6, "announce", "needs_you", "x/1"), told(6.5, "withdraw", "needs_you", "x/1"))
    assert found(events=(*ask, *TOLD)) == [("false push", "idle_empty")]


def test_the_same_ask_told_twice_is_false() -> None:
    events = (TOLD[0], told(22, "announce", "needs_you"), *TOLD[1:])
    assert found(events=events) == [("false push", "approval_shell")]


def test_an_announcement_about_another_pane_is_false() -> None:
    events = (*TOLD, told(32, "announce", "done", "o/1", ours=False))
    assert found(events=events) == [("false push", "idle_done")]


def test_a_withdrawal_that_comes_late_or_never_is_found() -> None:
    late = (TOLD[0], TOLD[2], told(33, "withdraw", "needs_you"))
    assert found(events=late) == [("late withdraw", "approval_shell")]
    assert found(events=(TOLD[0], TOLD[2])) == [("late withdraw", "approval_shell")]


def test_a_turn_that_ended_must_be_announced() -> None:
    assert found(events=TOLD[:2]) == [("missed push", "idle_done")]


def test_a_wrong_state_counts_once_it_stands_longer_than_tolerated() -> None:
    blink = (
        Shown(at=32, activity="working", needs_you=False),
        Shown(at=32.3, activity="idle", needs_you=False),
    )
    assert found(shown=(*SHOWN, *blink)) == []
    assert found(shown=(*SHOWN, blink[0])) == [("state", "idle_done")]


def test_what_may_be_announced_comes_from_the_label() -> None:
    asked = span_of("idle_end_question", label.idle("codex", asked_in_prose=True), 0, 1)
    assert (asked.allowed, asked.expected) == (frozenset({"asked"}), "asked")
    draft = span_of("idle_draft", label.idle("codex", draft=True), 0, 1)
    assert draft.allowed == frozenset()
    error = span_of("error_401", label.failed("codex"), 0, 1)
    assert error.expected == "error"


def test_percentiles_are_values_that_were_measured() -> None:
    assert percentile([], 0.5) is None
    assert percentile([0.3, 0.1, 0.2], 0.5) == 0.2
    assert percentile([0.3, 0.1, 0.2], 0.95) == 0.3


def test_the_lookout_tells_a_dialog_from_a_turn_and_from_a_free_composer() -> None:
    codex = AGENTS["codex"]
    dialog = "Would you like to run the following command?\n\n  Press enter to confirm\n"
    assert look(codex, "", dialog) == "waiting"
    assert look(codex, "", "• Working (3s • esc to interrupt)\n\n› Ask\n") == "working"
    assert look(codex, "⠋ project", "› Ask\n") == "working"
    assert look(codex, "project", "› Ask\n") == "free"
    quoted = dialog + "\n".join(f"row {number}" for number in range(6))
    assert look(codex, "", quoted) == "free"


def test_events_of_the_flows_pane_and_of_others_are_kept_apart(tmp_path: Path) -> None:
    service = LiveService(tmp_path, tmp_path / "tmux.sock", "codex")
    state = {"activity": "idle", "needs_you": False, "pane": {"session": "codex", "key": "k1"}}
    other = {**state, "pane": {"session": "keeper", "key": "k2"}}
    for data in (state, other):
        service.take(ServerSent(id="1", event="pane", data=data), 1.0)
    for key in ("k1", "k2"):
        data = {"key": key, "attention": "done", "contract": {"key": "c", "episode": 2}}
        service.take(ServerSent(id="2", event="announce", data=data), 2.0)
    assert service.shown == [Shown(at=1.0, activity="idle", needs_you=False)]
    assert [(item.contract, item.ours) for item in service.told] == [("c/2", True), ("c/2", False)]


def test_looking_at_tmux_changes_nothing() -> None:
    changing = ("send", "set", "paste", "kill", "new", "respawn", "pipe", "switch", "resize")
    assert not [name for name in LOOKING if name.startswith(changing)]


def test_the_table_has_one_row_per_run_and_the_details_name_each_finding() -> None:
    finding = Finding(what="false push", name="idle_done", text="done at 3.00: told twice")
    result = Score(
        spans=9,
        asks=3,
        findings=(finding,),
        ask_delays=(0.1, 0.2),
        push_delays=(),
        state_delays=(0.05,),
    )
    outcome = Outcome(
        program="codex", version="0.171.0", score=result, missed=(), intrusions=("tmux send-keys",)
    )
    head, rule, row = table([outcome])
    assert head.count("|") == rule.count("|") == row.count("|")
    assert "| 9 | 3 | 0 | 0 | 0 | 1 | 0 | 0 | 100/200 ms | -/- ms | 50/50 ms | changed |" in row
    assert details([outcome]) == [
        "lab: codex 0.171.0 false push, idle_done: done at 3.00: told twice",
        "lab: codex 0.171.0 intrusion: tmux send-keys",
    ]
    assert not outcome.passed


def test_a_program_that_nobody_knows_is_one_line_and_status_1(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["live", "nano", "--cache", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.startswith("lab: unknown program 'nano'; there is: ")


def test_the_flows_name_steps_that_every_agent_has() -> None:
    assert "idle" in FLOWS
    for agent in AGENTS.values():
        assert any(name.startswith("error_4") for name in agent.errors)
