"""`python -m evals sequences`: recorded sequences through the live pipeline, scored against truth.

Prints, per program and version: forbidden states, false announcements, missed and late asks, flaps,
time-weighted accuracy and delays; `--json` gives the same for machines.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from evals.sequences_score import Score, score
from openbus.classify import classify
from openbus.replay import SequenceError, load_sequence, replay
from openbus.screen.manifest import Library, load_library
from openbus.track import Read

SEQUENCES = Path(__file__).parent / "sequences"

KINDS = ("forbidden", "false announcement", "missed ask", "late", "announced again", "flap")


def sequence_files(roots: Iterable[Path]) -> list[Path]:
    """Every recording below these folders, or the files themselves."""
    return sorted(
        file for root in roots for file in (root.rglob("*.jsonl") if root.is_dir() else [root])
    )


def run(files: Sequence[Path], library: Library, read: Read) -> tuple[list[Score], list[str]]:
    """Score every file; the second list names those that could not be used."""
    scores: list[Score] = []
    problems: list[str] = []
    for file in files:
        try:
            sequence = load_sequence(file)
        except SequenceError as error:
            problems.append(str(error))
            continue
        events = replay(sequence, library, read)
        grace = float(sequence.header.get("grace") or 1.5)
        scores.append(score(str(file), events, sequence.marks, grace))
    return scores, problems


def as_json(scores: Sequence[Score]) -> dict[str, Any]:
    """The figures of all files, of each program/version, and every finding."""
    groups: dict[str, list[Score]] = {}
    for item in scores:
        groups.setdefault(_group(item.file), []).append(item)
    return {
        **_numbers(scores),
        "by": {name: _numbers(group) for name, group in sorted(groups.items())},
        "findings": [
            {"file": f.file, "t": f.t, "what": f.what, "text": f.text}
            for item in scores
            for f in item.findings
        ],
    }


def write_human(scores: Sequence[Score], console: Console, findings: bool) -> None:
    """Tables for a terminal."""
    report = as_json(scores)
    table = Table(title=f"{report['n']} sequences", title_justify="left")
    table.add_column("program/version")
    for name in ("n", "asks", *KINDS, "accuracy", "ask p95", "end p95", "mark p95"):
        table.add_column(name, justify="right")
    rows = [*report["by"].items(), ("all", report)]
    for name, numbers in rows:
        table.add_row(
            name,
            str(numbers["n"]),
            str(numbers["asks"]),
            *(str(numbers[kind.replace(" ", "_")]) for kind in KINDS),
            _figure(numbers["accuracy"], 4),
            *(_figure(numbers[f"{what}_delay_s"]["p95"], 2) for what in ("ask", "end", "mark")),
        )
    console.print(table)
    if findings:
        for finding in report["findings"]:
            console.print(
                f"{finding['file']} {finding['t']:.2f}s {finding['what']}: {finding['text']}",
                soft_wrap=True,
                highlight=False,
                markup=False,
            )


def main(argv: Sequence[str] | None = None) -> int:
    """The command. Exit status 1 when a file could not be used, nothing was found, or, with
    `--check`, anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m evals sequences", description=__doc__)
    parser.add_argument("roots", nargs="*", type=Path, help="folders or files; the shipped ones")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.add_argument("--findings", action="store_true", help="list everything that went wrong")
    parser.add_argument("--only", metavar="GLOB", help="only files whose path matches")
    parser.add_argument("--check", action="store_true", help="exit status 1 on any finding")
    given = parser.parse_args(argv)
    library = load_library()
    files = [
        file
        for file in sequence_files(given.roots or [SEQUENCES])
        if given.only is None or file.match(given.only)
    ]
    scores, problems = run(files, library, lambda capture, memo: classify(capture, library, memo))
    for problem in problems:
        print(f"evals: {problem}", file=sys.stderr)
    if not files:
        print("evals: no sequences found", file=sys.stderr)
    if given.json:
        print(json.dumps(as_json(scores), ensure_ascii=False))
    else:
        width = None if sys.stdout.isatty() else 150
        write_human(scores, Console(width=width), given.findings)
    wrong = given.check and any(item.findings for item in scores)
    return 1 if problems or not files or wrong else 0


def _group(file: str) -> str:
    parts = Path(file).parts
    return "/".join(parts[-3:-1])


def _numbers(scores: Sequence[Score]) -> dict[str, Any]:
    scored = sum(item.scored for item in scores)
    return {
        "n": len(scores),
        "asks": sum(item.asks for item in scores),
        **{kind.replace(" ", "_"): sum(s.count(kind) for s in scores) for kind in KINDS},
        "accuracy": sum(item.right for item in scores) / scored if scored else None,
        "marks": sum(item.marks for item in scores),
        "state_changes": sum(item.changes for item in scores),
        "ask_delay_s": _percentiles(d for s in scores for d in s.announce_delays),
        "end_delay_s": _percentiles(d for s in scores for d in s.withdraw_delays),
        "mark_delay_s": _percentiles(d for s in scores for d in s.mark_delays),
    }


def _percentiles(values: Iterable[float]) -> dict[str, float | None]:
    ordered = sorted(values)
    if not ordered:
        return {"p50": None, "p95": None, "max": None}
    return {
        "p50": round(ordered[len(ordered) // 2], 3),
        "p95": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], 3),
        "max": round(ordered[-1], 3),
    }


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
