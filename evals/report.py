"""Numbers and tables from scored screens. The JSON is described in `docs/contract.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from evals.run import Outcome, Result, rules_fired

ACCURACIES = {
    "activity_accuracy": "activity",
    "kind_accuracy": "kind",
    "question_exact": "question",
    "options_exact": "options",
    "program_accuracy": "program",
    "overlay_accuracy": "overlay",
    "background_accuracy": "background",
    "draft_accuracy": "draft",
    "asked_in_prose_accuracy": "asked_in_prose",
}
"""Name in the report -> scored field."""

PROGRAMS_WITHOUT_MODEL = ("shell", "unknown")


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The whole report. A share of nothing is null, never 1."""
    results = outcome.results
    micros = sorted(value for result in results for value in result.micros)
    agents = [r for r in results if not r.group.startswith(PROGRAMS_WITHOUT_MODEL)]
    lookalikes = [r for r in results if r.expect.get("lookalike")]
    return {
        **numbers(results),
        "by": _by(results, lambda r: r.group),
        "by_width": _by(results, lambda r: str(r.width)),
        "by_kind": _by([r for r in results if "kind" in r.expect], lambda r: str(r.expect["kind"])),
        "title_coverage": _share(sum(r.has_title for r in agents), len(agents)),
        "model_coverage": _share(sum(r.has_model for r in agents), len(agents)),
        "lookalikes": {
            "n": len(lookalikes),
            "alarms": [r.file for r in lookalikes if r.needs_you],
        },
        "unsteady": [r.file for r in results if not r.steady],
        "confusion": {
            f"{expected} -> {got}": count
            for (expected, got), count in sorted(_confusion(results).items())
        },
        "never_fired": sorted(set(outcome.rule_ids) - rules_fired(results)),
        "latency_us": {"p50": percentile(micros, 0.50), "p99": percentile(micros, 0.99)},
        "failures": [
            {"file": r.file, "field": m.field, "expected": m.expected, "got": m.got}
            for r in results
            for m in r.wrong
        ],
        "problems": list(outcome.problems),
    }


def numbers(results: Sequence[Result]) -> dict[str, Any]:
    """The figures of one group of screens."""
    asked = [r for r in results if "needs_you" in r.scored]
    tp = sum(r.needs_you and bool(r.expect["needs_you"]) for r in asked)
    fp = sum(r.needs_you and not r.expect["needs_you"] for r in asked)
    fn = sum(not r.needs_you and bool(r.expect["needs_you"]) for r in asked)
    report: dict[str, Any] = {
        "n": len(results),
        "needs_you": {
            "tp": tp,
            "fp": fp,
            "fn": fn,
            "precision": _share(tp, tp + fp),
            "recall": _share(tp, tp + fn),
        },
    }
    for name, field in ACCURACIES.items():
        scored = [r for r in results if field in r.scored]
        right = sum(all(m.field != field for m in r.wrong) for r in scored)
        report[name] = _share(right, len(scored))
    return report


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The value below which `share` of the sorted `ordered` lie; None of nothing."""
    if not ordered:
        return None
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)


def write_human(outcome: Outcome, console: Console, failures: bool) -> None:
    """Tables for a person; with `failures` every field that was read differently."""
    report = as_json(outcome)
    console.print(_group_table("program/version", report["by"], total=report))
    console.print(_group_table("width", report["by_width"]))
    console.print(_group_table("kind of ask", report["by_kind"]))
    console.print(_confusion_table(outcome.results))
    alarms = report["lookalikes"]["alarms"]
    console.print(f"Look-alikes: {report['lookalikes']['n']} screens, {len(alarms)} alarms")
    for file in alarms:
        console.print(f"  alarm: {file}", markup=False)
    for name in ("title_coverage", "model_coverage"):
        console.print(f"{name.replace('_', ' ').capitalize()}: {_figure(report[name])}")
    latency = report["latency_us"]
    console.print(f"One reading: p50 {latency['p50']} µs, p99 {latency['p99']} µs")
    fired = len(outcome.rule_ids) - len(report["never_fired"])
    console.print(f"Rules that fired: {fired} of {len(outcome.rule_ids)}")
    if report["never_fired"]:
        console.print(f"  never: {', '.join(report['never_fired'])}", markup=False)
    for file in report["unsteady"]:
        console.print(f"  read differently when repeated: {file}", markup=False)
    wrong = report["failures"]
    console.print(f"Fields read differently: {len(wrong)}")
    for failure in wrong if failures else ():
        console.print(
            f"  {failure['file']}  {failure['field']}: "
            f"expected {failure['expected']!r}, got {failure['got']!r}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def as_markdown(outcome: Outcome) -> str:
    """The page `docs/accuracy.md`: the tables of the report, without anything that is not steady
    from run to run (times)."""
    report = as_json(outcome)
    lookalikes = report["lookalikes"]
    parts = [
        "# Measured accuracy",
        "",
        "Made by `make accuracy` from [the corpus](corpus.md); a share of nothing is a dash. The",
        "shipped rules were written with these screens in view: the figures say that they are read",
        "right at every width, not how well the rules carry over to versions nobody has captured.",
        "",
        *_markdown_table("program and version", report["by"], report),
        *_markdown_table("width", report["by_width"]),
        *_markdown_table("kind of ask", report["by_kind"]),
        f"Look-alikes: {lookalikes['n']} screens, {len(lookalikes['alarms'])} alarms. "
        f"Fields read differently: {len(report['failures'])}.",
    ]
    return "\n".join(parts) + "\n"


def _markdown_table(title: str, groups: dict[str, Any], total: Any = None) -> list[str]:
    names = {
        "activity": "activity_accuracy",
        "kind": "kind_accuracy",
        "question": "question_exact",
        "options": "options_exact",
        "program": "program_accuracy",
    }
    heads = [title, "screens", "asks", "needs-you precision", "recall", *names]
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for name, row in [*groups.items(), *([("all", total)] if total else [])]:
        needs = row["needs_you"]
        cells = [name, str(row["n"]), str(needs["tp"] + needs["fn"])]
        cells += [_figure(needs["precision"]), _figure(needs["recall"])]
        cells += [_figure(row[key]) for key in names.values()]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _group_table(title: str, groups: dict[str, Any], total: Any = None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(title)
    heads = ("n", "tp", "fp", "fn", "prec.", "recall", "activity", "kind", "question", "options")
    for head in (*heads, "program"):
        table.add_column(head, justify="right")
    rows = list(groups.items())
    if total is not None:
        rows.append(("all", total))
    for name, report in rows:
        needs = report["needs_you"]
        table.add_row(
            name,
            *(str(value) for value in (report["n"], needs["tp"], needs["fp"], needs["fn"])),
            *(_figure(needs[key]) for key in ("precision", "recall")),
            *(
                _figure(report[key])
                for key in (
                    "activity_accuracy",
                    "kind_accuracy",
                    "question_exact",
                    "options_exact",
                    "program_accuracy",
                )
            ),
        )
    return table


def _confusion_table(results: Sequence[Result]) -> Table:
    counts = _confusion(results)
    columns = sorted({got for _, got in counts})
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("expected \\ read")
    for column in columns:
        table.add_column(column, justify="right")
    for row in sorted({expected for expected, _ in counts}):
        table.add_row(row, *(str(counts.get((row, column), 0) or "·") for column in columns))
    return table


def _confusion(results: Iterable[Result]) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for result in results:
        if "activity" in result.scored:
            wanted = result.expect.get("activity_any") or [result.expect["activity"]]
            counts["|".join(wanted), result.activity] += 1
    return counts


def _by(results: Sequence[Result], key: Callable[[Result], str]) -> dict[str, Any]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)

    def order(name: str) -> tuple[int, str]:
        return (int(name), "") if name.isdecimal() else (0, name)

    return {name: numbers(groups[name]) for name in sorted(groups, key=order)}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 5) if whole else None


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
