"""The guide names everything that there is, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import typer

from openbus.cli import build
from openbus.config import Settings
from openbus.model import PaneState, Question
from openbus.screen import manifest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_setting_is_described() -> None:
    text = page("docs/install.md")
    for table in msgspec.structs.fields(Settings):
        for field in msgspec.structs.fields(type(table.default)):
            assert f"`[{table.name}] {field.name}`" in text


def test_every_field_of_a_state_is_described() -> None:
    text = page("docs/contract.md")
    for field in (*msgspec.structs.fields(PaneState), *msgspec.structs.fields(Question)):
        assert f"`{field.name}" in text, field.name


def test_every_command_is_described() -> None:
    command = typer.main.get_command(build())
    for name in getattr(command, "commands", {}):
        assert f"openbus {name}" in page("docs/cli.md"), name
        assert f"openbus {name}" in page("docs/contract.md"), name


def test_every_key_of_a_manifest_is_described() -> None:
    text = page("docs/adding-an-agent.md")
    renamed = {"meaning": "is", "place": "in"}
    shapes = (
        manifest.ProgramRule,
        manifest.Glyphs,
        manifest.TitleRule,
        manifest.ComposerRule,
        manifest.MarkRule,
        manifest.DialogRule,
        manifest.OverlayRule,
        manifest.FieldRule,
    )
    for shape in shapes:
        for field in msgspec.structs.fields(shape):
            name = renamed.get(field.name, field.name)
            assert f"`{name}`" in text, f"{shape.__name__}.{name}"
    for meaning in manifest.MARK_MEANINGS:
        assert f"`{meaning}`" in text, meaning
