"""What a session asks of its user, cut to the limits of the records."""

from __future__ import annotations

from agent_history.calls import CallState, target
from agent_history.fields import LABEL, MAX_OPTIONS, MAX_QUESTIONS, TEXT, command_of, cut
from agent_history.kinds import kind_of_call
from agent_history.records import ApprovalAsk, AskedQuestion, AskOption, QuestionAsk


def question(arguments: dict[str, object]) -> QuestionAsk:
    """The questions of a question tool's input: four at most, with eight options each."""
    asked = arguments.get("questions")
    out = []
    for item in (asked if isinstance(asked, list) else [])[:MAX_QUESTIONS]:
        if not isinstance(item, dict):
            continue
        options = item.get("options")
        out.append(
            AskedQuestion(
                header=cut(text(item.get("header")), LABEL),
                text=cut(text(item.get("question") or item.get("title")), TEXT),
                options=tuple(
                    option(value)
                    for value in (options if isinstance(options, list) else [])[:MAX_OPTIONS]
                ),
                multiple=item.get("multiSelect") is True or item.get("multiple") is True,
            )
        )
    return QuestionAsk(questions=tuple(out))


def option(value: object) -> AskOption:
    """One option: an object with label and description, or plain text."""
    if not isinstance(value, dict):
        return AskOption(label=cut(text(value), LABEL), description="")
    return AskOption(
        label=cut(text(value.get("label")), LABEL),
        description=cut(text(value.get("description")), TEXT),
    )


def approval(state: CallState, cwd: str) -> ApprovalAsk:
    """The call that waits for permission."""
    command = state.command if state.command is not None else command_of(state.arguments())
    return ApprovalAsk(
        tool=state.name,
        target=target(state, cwd),
        kind=kind_of_call(state.name, command, state.command_cut),
    )


def text(value: object) -> str:
    """A value as text; nothing for None."""
    return "" if value is None else str(value)
