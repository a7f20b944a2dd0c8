"""Finding the composer, its draft and its placeholder."""

import pytest

from openbus.screen.composer import Composer, find_composer
from openbus.screen.grid import parse
from tests.openbus.screen.support import library, screen_file


def composer(name: str) -> Composer | None:
    file = screen_file(name)
    capture = file.capture
    manifest = library().get(file.program)
    assert manifest is not None
    screen = parse(capture.ansi, capture.width, capture.height)
    return find_composer(screen, capture.cursor, manifest)


@pytest.mark.parametrize(
    "program",
    [
        "codex/0.171.0",
        "claude-code/2.1.332",
        "claude-code/2.0.76",
        "opencode/1.18.33",
        "gemini/0.61.0",
    ],
)
@pytest.mark.parametrize("size", ["80x24", "120x40"])
def test_an_empty_composer_holds_no_draft(program: str, size: str) -> None:
    found = composer(f"{program}/idle_done--{size}")
    assert found is not None
    assert not found.draft


@pytest.mark.parametrize(
    "program", ["codex/0.171.0", "claude-code/2.1.332", "opencode/1.18.33", "gemini/0.61.0"]
)
def test_typed_text_is_a_draft(program: str) -> None:
    found = composer(f"{program}/idle_draft--80x24")
    assert found is not None
    assert found.draft
    assert found.text.startswith("Look at the retry helper")


@pytest.mark.parametrize(
    "program", ["codex/0.171.0", "claude-code/2.1.332", "opencode/1.18.33", "gemini/0.61.0"]
)
def test_a_live_dialog_replaces_the_composer(program: str) -> None:
    assert composer(f"{program}/approval_shell--80x24") is None
