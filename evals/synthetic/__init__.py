"""Screens that no program drew, as corpus files: rebuilt from public bug reports and from notes.

`python -m evals.synthetic` writes `evals/corpus-synthetic/`. Each case keeps what was reported to
be on the screen (glyphs, words, order) and stands in the real frame – composer, footer, processes,
terminal state – of that program from `evals/corpus/`. `state` is the case's name: `B…` a bug report
of a neighbouring tool, `R…` a rare screen of a program that could not be brought about here
(limits, retries, notices). The labels are what a person in front of that screen would say; a label
that the source leaves open is left out.
"""
