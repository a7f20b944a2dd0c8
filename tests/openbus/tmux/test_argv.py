from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbus.tmux.argv import HELPER_WORDS, MAX_LENGTH, MAX_WORDS, naming_words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("codex", "codex"),
        ("codex resume 0199 fix the bug", "codex"),
        ("codex app-server --listen unix:// --managed-daemon", "codex app-server --managed-daemon"),
        ("codex app-server daemon pid-update-loop", "codex app-server daemon pid-update-loop"),
        ("codex -c key=value app-server", "codex app-server"),
        ("codex exec fix", "codex exec"),
        ("claude --model opus hello", "claude"),
        ("claude -p secret-prompt", "claude -p"),
        ("claude mcp serve", "claude mcp serve"),
        ("node /opt/bin/codex resume x", "node /opt/bin/codex"),
        ("/usr/bin/node --max-old-space-size=9 /opt/gemini -r latest", "/usr/bin/node /opt/gemini"),
        ("node -r /x/hook.js /opt/bin/gemini --acp", "node /opt/bin/gemini --acp"),
        ("node -e code", "node"),
        ("node --eval code", "node"),
        ("python3.12 -m aider --api-key k", "python3.12 -m aider"),
        ("python -c code", "python"),
        ("python -Ic code", "python"),
        ("python -u /x/aider", "python /x/aider"),
        ("/venv/bin/python3.11 /venv/bin/aider msg", "/venv/bin/python3.11 /venv/bin/aider"),
        ("python -ccode arg", "python"),
        ("node -pe code", "node"),
        ("node --print=code arg", "node"),
        ("bash -lc code", "bash"),
        ("bash -ce code", "bash"),
        ("bash -e ./build.sh", "bash ./build.sh"),
        ("-bash", "-bash"),
        ("bash ./build.sh", "bash ./build.sh"),
        ("uv run --with pkg tool.py arg", "uv run tool.py"),
        ("uv tool run aider", "uv tool run aider"),
        ("uvx --from git+https://u:token@host/x aider", "uvx aider"),
        ("uvx git+https://u:token@host/x", "uvx"),
        ("npx -p @openai/codex codex", "npx codex"),
        ("npm exec @openai/codex", "npm exec @openai/codex"),
        ("bun run /x/opencode.ts", "bun run /x/opencode.ts"),
        ("deno run -A /x/y.ts", "deno run /x/y.ts"),
        ("less README.md", "less"),
        ("mysql -psecret", "mysql"),
        ("env KEY=secret codex", "env"),
    ],
)
def test_a_command_line_is_cut_to_what_names_the_program(command: str, words: str) -> None:
    assert " ".join(naming_words(command.split(" "))) == words


def test_titles_written_over_the_arguments_are_cut() -> None:
    assert naming_words(["claude", "", "", ""]) == ("claude",)
    assert naming_words(["worker: prompt of a user"]) == ("worker:",)
    assert naming_words(["/Applications/A B/bin/codex"]) == ("/Applications/A B/bin/codex",)
    assert naming_words([]) == naming_words([""]) == ()


@given(st.lists(st.text(max_size=300), max_size=30))
def test_any_command_line_is_bounded(argv: list[str]) -> None:
    words = naming_words(argv)
    assert len(words) <= MAX_WORDS
    assert all(len(word) <= MAX_LENGTH for word in words)


@given(st.lists(st.text(min_size=1), max_size=10))
def test_arguments_of_a_program_never_pass_unless_they_are_fixed_words(prompt: list[str]) -> None:
    assert set(naming_words(["claude", *prompt])[1:]) <= HELPER_WORDS
    assert naming_words(["bash", "-c", *prompt]) == ("bash",)
