"""The synthetic screens in the repository are those that the module builds."""

from __future__ import annotations

import json
from pathlib import Path

from evals.synthetic import __main__ as synthetic
from openbus.corpus import read


def test_the_files_are_what_the_module_writes(tmp_path: Path) -> None:
    synthetic.main(tmp_path)
    written = {p.relative_to(tmp_path): p.read_text() for p in tmp_path.rglob("*.json")}
    shipped = {
        p.relative_to(synthetic.TARGET): p.read_text() for p in synthetic.TARGET.rglob("*.json")
    }
    assert written == shipped


def test_every_file_says_that_it_is_synthetic_and_fits_its_size() -> None:
    for path in synthetic.TARGET.rglob("*.json"):
        file = read(path)
        assert file.synthetic, path
        assert file.state.startswith(("B", "R")), path
        assert file.capture.ansi.count("\n") == file.capture.height, path
        assert 0 <= file.capture.cursor.y < file.capture.height, path
        assert json.loads(path.read_text())["text"].strip(), path


def test_names_are_unique() -> None:
    names = [case.name for case in synthetic.cases()]
    assert len(names) == len(set(names))
