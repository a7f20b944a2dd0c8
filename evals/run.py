"""Reading a corpus: every file through the rules reader, scored, in one or several processes.

A unit of work is a `Case`: a screen, its labels, and where it came from (a corpus file, or a
mutation of one). Nothing here prints; `evals/report.py` makes the numbers and the tables.
"""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from evals import mutate, score
from openbus.classify import classify
from openbus.corpus import CorpusError, CorpusFile, paths_below, read
from openbus.screen.manifest import load_library

CORPUS = Path(__file__).parent / "corpus"
"""The screens that are read when no folder is named."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One screen, read and scored.

    `right` names the scored fields, `wrong` holds those read differently. `micros`: each reading's
    time in microseconds, one entry per repetition. `steady`: all repetitions read the same.
    """

    file: str
    group: str
    width: int
    expect: dict[str, Any]
    activity: str
    needs_you: bool
    has_title: bool
    has_model: bool
    scored: tuple[str, ...]
    wrong: tuple[score.Mismatch, ...]
    rules: tuple[str, ...]
    micros: tuple[float, ...]
    steady: bool = True


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to read: files below `roots` whose name matches `only`, `repeat` times each.

    `mutations`: read every file's mutations (`evals/mutate.py`) as well. `user_dir`: a folder with
    manifests to measure together with the shipped ones; the user's own folder is never used.
    """

    roots: tuple[str, ...]
    only: str | None = None
    repeat: int = 1
    mutations: bool = False
    user_dir: str | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was read. `problems`: one line per file that could not be."""

    results: tuple[Result, ...]
    problems: tuple[str, ...]
    rule_ids: tuple[str, ...]


def run(plan: Plan, jobs: int = 1) -> Outcome:
    """Read everything that `plan` names with `jobs` processes."""
    roots = [_from_here(Path(root)) for root in plan.roots]
    paths = [path for path in paths_below(roots) if _wanted(path, plan.only)]
    if jobs <= 1 or len(paths) < 2 * jobs:
        return _read_share(plan, paths)
    shares = [paths[start::jobs] for start in range(jobs)]
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        outcomes = list(pool.map(_read_share, [plan] * jobs, shares))
    return Outcome(
        results=tuple(sorted((r for o in outcomes for r in o.results), key=lambda r: r.file)),
        problems=tuple(sorted(line for o in outcomes for line in o.problems)),
        rule_ids=outcomes[0].rule_ids,
    )


def _from_here(path: Path) -> Path:
    """Relative where that is shorter to read: reports name files from the current folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _wanted(path: Path, only: str | None) -> bool:
    return only is None or fnmatch.fnmatch(str(path), f"*{only}*")


def _read_share(plan: Plan, paths: Sequence[Path]) -> Outcome:
    library = load_library(Path(plan.user_dir) if plan.user_dir else None)
    results: list[Result] = []
    problems: list[str] = []
    for path in paths:
        try:
            corpus_file = read(path)
        except CorpusError as error:
            problems.append(str(error))
            continue
        results.extend(
            _read_case(case, library, plan.repeat) for case in _cases(corpus_file, plan.mutations)
        )
    return Outcome(
        results=tuple(results),
        problems=tuple(problems),
        rule_ids=tuple(sorted(library.rule_ids())),
    )


def _cases(corpus_file: CorpusFile, mutations: bool) -> Iterator[CorpusFile]:
    yield corpus_file
    if mutations:
        yield from mutate.all_of(corpus_file)


def _read_case(case: CorpusFile, library: Any, repeat: int) -> Result:
    readings = []
    micros = []
    for _ in range(max(1, repeat)):
        start = time.perf_counter_ns()
        readings.append(classify(case.capture, library))
        micros.append((time.perf_counter_ns() - start) / 1000)
    reading = readings[0]
    compared = score.compare(case.expect, reading)
    return Result(
        file=case.file,
        group=_group(case),
        width=case.capture.width,
        expect=case.expect,
        activity=reading.activity,
        needs_you=reading.needs_you,
        has_title=reading.title is not None,
        has_model=reading.model is not None,
        scored=tuple(compared),
        wrong=tuple(mismatch for mismatch in compared.values() if mismatch is not None),
        rules=tuple(why.rule for why in reading.why),
        micros=tuple(micros),
        steady=all(other == reading for other in readings),
    )


def _group(case: CorpusFile) -> str:
    """`program/version`; what no program drew is counted on its own."""
    name = f"{case.program or 'unknown'}/{case.version or 'unknown'}"
    return f"{name} (synthetic)" if case.synthetic else name


def rules_fired(results: Iterable[Result]) -> set[str]:
    """Every rule id that some reading names."""
    return {rule for result in results for rule in result.rules}
