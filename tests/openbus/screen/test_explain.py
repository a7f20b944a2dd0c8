"""Why a screen reads as it does."""

import msgspec

from openbus.classify import classify, explain
from tests.openbus.screen.support import library, screen_file


def test_explain_prints_the_decision_that_classify_makes() -> None:
    for name in ("codex/0.171.0/approval_shell--80x24", "opencode/1.18.33/idle_done--120x40"):
        capture = screen_file(name).capture
        assert explain(capture, library()).reading == classify(capture, library())


def test_fired_rules_come_with_their_rows() -> None:
    explained = explain(screen_file("codex/0.171.0/approval_shell--80x24").capture, library())
    assert explained.evidence == "script codex"
    (fired,) = explained.fired
    assert fired.rule == "codex/run-or-edit"
    assert any("Would you like to run" in text for text in fired.text)


def test_a_quoted_dialog_nearly_fires_and_says_why_not() -> None:
    capture = screen_file("codex/0.171.0/idle_lookalike_menu--80x24").capture
    near = {n.rule: n for n in explain(capture, library()).nearly}
    assert near["codex/run-or-edit"].why_not == "not a live dialog"
    assert near["codex/prompt"].why_not == "a lower row decided"


def test_an_explanation_is_plain_data() -> None:
    explained = explain(screen_file("shell/plain/apt_yn--80x24").capture, library())
    assert msgspec.json.decode(msgspec.json.encode(explained))["reading"]["activity"] == "waiting"
