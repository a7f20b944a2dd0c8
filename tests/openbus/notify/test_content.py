"""What a notification says: what asks, where, the question, the options; no secrets."""

from __future__ import annotations

import msgspec
import pytest

from openbus.model import Contract, Option, PaneState, Program, Question
from openbus.notify.conceal import DOTS, conceal
from openbus.notify.content import parcel_for
from openbus.notify.records import Notice, tag_of
from tests.openbus.live_support import KEY, pane

CONTRACT = Contract(key="abc", episode=3)
NOTICE = Notice(
    tag=tag_of(KEY, CONTRACT),
    pane=KEY,
    contract=CONTRACT,
    kind="needs_you",
    program="codex",
    opened_at=1,
)


def state(**fields: object) -> PaneState:
    question = Question(
        kind="approval",
        text="Run this command?",
        command="make deploy",
        options=(Option(label="Yes", selected=True), Option(label="No, tell what to do instead")),
        contract=CONTRACT,
    )
    found = PaneState(
        host="box",
        pane=pane(cwd="/home/me/shop"),
        program=Program(name="codex"),
        activity="waiting",
        needs_you=True,
        attention="needs_you",
        question=question,
    )
    return msgspec.structs.replace(found, **fields)


def test_it_says_what_asks_where_and_what() -> None:
    parcel = parcel_for((NOTICE,), lambda key: state(), private=False)
    assert parcel.title == "codex needs you"
    assert parcel.body.splitlines() == [
        "work:0.0 · shop",
        "Run this command?",
        "$ make deploy",
        "1. Yes",
        "2. No, tell what to do instead",
    ]
    assert parcel.options == ("Yes", "No, tell what to do instead")
    assert parcel.urgency == "high"


def test_private_says_only_program_and_pane() -> None:
    parcel = parcel_for((NOTICE,), lambda key: state(), private=True)
    assert (parcel.title, parcel.body, parcel.options) == ("codex needs you", "work:0.0", ())


def test_another_question_on_the_screen_is_not_told_under_this_notice() -> None:
    other = msgspec.structs.replace(state().question, contract=Contract(key="abc", episode=4))  # type: ignore[type-var]
    parcel = parcel_for((NOTICE,), lambda key: state(question=other), private=False)
    assert "make deploy" not in parcel.body


def test_a_pane_that_is_gone_is_still_named_by_its_program() -> None:
    parcel = parcel_for((NOTICE,), lambda key: None, private=False)
    assert (parcel.title, parcel.body) == ("codex needs you", "a pane")


def test_several_are_listed_in_short() -> None:
    notices = (NOTICE,) * 20
    parcel = parcel_for(notices, lambda key: state(), private=False)
    assert parcel.title == "20 panes need you"
    lines = parcel.body.splitlines()
    assert lines[0] == "codex · work:0.0 · make deploy"
    assert lines[-1] == "and 12 more"


def test_control_characters_and_secrets_of_a_screen_do_not_leave() -> None:
    question = msgspec.structs.replace(
        state().question,  # type: ignore[type-var]
        text="Use it?\x1b]0;owned\x07\u202e",
        command="curl -H 'Authorization: Bearer abcdef1234567890' https://me:hunter2@host/x",
        options=(Option(label="Yes, with sk-ant-api03-AAAABBBBCCCC"),),
    )
    parcel = parcel_for((NOTICE,), lambda key: state(question=question), private=False)
    said = parcel.title + parcel.body + "".join(parcel.options)
    for forbidden in ("\x1b", "\x07", "\u202e", "abcdef1234567890", "hunter2", "AAAABBBB"):
        assert forbidden not in said


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefgh12345678",
        "ghp_abcdefghijklmnop1234",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "0123456789abcdef0123456789abcdef",
        "xoxb-123456789012-abcdef",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ],
)
def test_keys_are_known_by_their_shape(secret: str) -> None:
    assert secret not in conceal(f"echo {secret} > file")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("export API_KEY=s3cr3t-value", f"export API_KEY={DOTS}"),
        ('{"password": "hunter2hunter2"}', f'{{"password": "{DOTS}"}}'),
        ("psql postgres://me:pw@db/shop", f"psql postgres://{DOTS}@db/shop"),
        ("curl -u me:pass1234 https://x", f"curl -u {DOTS} https://x"),
        ("deploy --token abc123def456", f"deploy --token {DOTS}"),
        ("the token expired yesterday", "the token expired yesterday"),
        ("git commit -m 'Fix login'", "git commit -m 'Fix login'"),
        ("Edit ~/shop/src/auth/session.py?", "Edit ~/shop/src/auth/session.py?"),
        ("git checkout 3f2a91c", "git checkout 3f2a91c"),
    ],
)
def test_values_go_and_words_stay(text: str, shown: str) -> None:
    assert conceal(text) == shown
