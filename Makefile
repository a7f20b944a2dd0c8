# `make run` and `make test` need nothing but this checkout; see docs/install.md.

.PHONY: help setup run test e2e lint evals accuracy bench soak lab lab-live lock clean

VENV := .venv/bin
export PYTHON

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "%-9s %s\n", $$1, $$2 }' Makefile

setup: ## Install what is missing (tmux, .venv).
	@sh scripts/setup

run: setup ## Set up, then start the service (options: make run ARGS="--no-web").
	$(VENV)/openbus up $(ARGS)

test: ## Set up (with a Chromium for the tests of the page), then run all tests.
	@sh scripts/setup tests
	$(VENV)/python -m pytest

e2e: setup ## Run the tests that drive real agents (downloads them from npm into a cache).
	$(VENV)/python -m pytest -m real_agents

lint: setup ## Style and types.
	$(VENV)/ruff check .
	$(VENV)/mypy

evals: setup ## How well screens are read: corpus, synthetic screens, mutations, sequences.
	$(VENV)/python -m evals run --jobs 2 --failures --corpus evals/corpus \
	  --corpus evals/corpus-synthetic --mutations
	$(VENV)/python -m evals sequences --check

accuracy: setup ## Write docs/accuracy.md anew.
	$(VENV)/python -m evals run --jobs 2 --markdown --corpus evals/corpus \
	  --corpus evals/corpus-synthetic > docs/accuracy.md

bench: setup ## How fast it is, beside a calibration loop (history alone: evals bench history).
	$(VENV)/python -m evals bench reading
	$(VENV)/python -m evals bench tmux
	$(VENV)/python -m evals bench live
	$(VENV)/python -m evals bench codex

soak: setup ## An accelerated hour of panes, servers and readers that come and go.
	$(VENV)/python -m evals.soak

lab: setup ## Drive real agents offline (downloads them from npm into a cache).
	$(VENV)/python -m evals.lab

lab-live: setup ## Real agents beside the real service: what is published against what is true.
	$(VENV)/python -m evals.lab live

lock: setup ## Pin the newest packages that pyproject.toml allows.
	$(VENV)/python -m pip install -q uv
	{ head -n 2 requirements.lock; $(VENV)/uv pip compile --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --extra dev --upgrade -q \
	  pyproject.toml; } > requirements.new
	mv requirements.new requirements.lock

clean: ## Remove what setup, tests and tools left here.
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
