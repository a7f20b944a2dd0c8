"""What the fake model does, and the sentence that makes it do so.

A driver types a natural sentence into a real agent; the model finds it in the request and plays
the scenario of that name. So nothing on the recorded screen says that it is a test.

A scenario is a list of rounds: the first answers the prompt, the next the first tool result, and so
on. A round is a list of acts. The module is long because it is one table.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Say(msgspec.Struct, frozen=True):
    """Text of the answer, streamed over `seconds` (0: at once)."""

    text: str
    seconds: float = 0.0


class Think(msgspec.Struct, frozen=True):
    """Reasoning, streamed over `seconds`."""

    text: str
    seconds: float


class Pause(msgspec.Struct, frozen=True):
    """Silence on an open stream."""

    seconds: float


class Use(msgspec.Struct, frozen=True):
    """A tool call in neutral terms; `tools` says what each agent's tool is called.

    `tool` is one of `shell`, `read`, `edit`, `write`, `fetch`, `ask`, `plan`, `todo`, `subagent`,
    `mcp`; `given` are its arguments, paths relative to the project.
    """

    tool: str
    given: dict[str, Any]


class Fail(msgspec.Struct, frozen=True):
    """An HTTP error instead of an answer. `reason` is the provider's error type."""

    status: int
    reason: str
    message: str
    retry_after: int | None = None


Act = Say | Think | Pause | Use | Fail
Round = tuple[Act, ...]


class Scenario(msgspec.Struct, frozen=True):
    name: str
    sentence: str
    rounds: tuple[Round, ...]


class Choice(msgspec.Struct, frozen=True):
    """One question to the person, as a tool asks it."""

    id: str
    header: str
    question: str
    options: tuple[tuple[str, str], ...]
    multiple: bool = False


SLOW = 60.0
"""Seconds of a slow answer. Drivers release it long before (`FakeModel.release`)."""

FLOW = (
    "The checkout flow starts when a shopper presses Pay. The cart is frozen, each line is priced "
    "again from the catalogue, discounts are applied in a fixed order and the total is rounded to "
    "two places. A payment intent is created with an idempotency key made from the cart and its "
    "revision, so a double click cannot charge twice. The worker then waits for the provider's "
    "webhook; when it arrives the order moves from pending to paid and a receipt is queued. "
)

MODULES = "\n".join(f"{n}. `part_{n:03d}.py` - handles one nightly job" for n in range(1, 121))

PLAN = """# Refactor the payment module

1. Move `charge()` and `refund()` to `payments/core.py`
2. Replace the global client with a `PaymentClient` class
3. Add tests for double submit and late webhooks

Nothing outside `payments/` changes its behaviour."""

DIALOG_QUOTED = """An approval prompt looks roughly like this:

```
Do you want to proceed?
❯ 1. Yes
  2. Yes, and don't ask again for rm commands in this project
  3. No, and tell Claude what to do differently (esc)
```

and in another program:

```
  Would you like to run the following command?

  $ rm -rf build/

› 1. Yes, proceed (y)
  2. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel
```

Nothing is waiting for you now; both blocks are only examples."""

CACHE = Choice(
    id="cache",
    header="Cache",
    question="Which cache should the API use?",
    options=(
        ("Redis", "Shared between workers, needs a server"),
        ("In-process LRU", "No server, one cache per worker"),
        ("No cache", "Leave it as it is"),
    ),
)
CHECKS = Choice(
    id="checks",
    header="Checks",
    question="Which checks should run on every push?",
    options=(
        ("Unit tests", "pytest, about two minutes"),
        ("Type check", "mypy in strict mode"),
        ("Lint", "ruff with the default rules"),
    ),
    multiple=True,
)
DATABASE = Choice(
    id="database",
    header="Database",
    question="Which database should I set up?",
    options=(("PostgreSQL", "What production uses"), ("SQLite", "One file, no server")),
)
SEED = Choice(
    id="seed",
    header="Seed data",
    question="Should I add seed data?",
    options=(("Yes, small", "About 50 rows"), ("No", "Empty tables")),
)


def _shell(command: str, why: str, *, ask: bool = False, background: bool = False) -> Use:
    return Use("shell", {"command": command, "why": why, "ask": ask, "background": background})


SUITE = _shell("./slow_tests.sh", "Run the slow test suite")
"""A command that runs until the file `.go` appears in the project (`terminal.make_project`)."""

SEARCH = "Search the repository for unused functions"
COMPRESS = "Compress the old log files"

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "quick",
        "What does cart.py do?",
        ((Say("`cart.py` holds the Cart class: it adds lines and computes the total.", 0.3),),),
    ),
    Scenario("stream", "Explain the checkout flow in detail", ((Say(FLOW * 6, SLOW),),)),
    Scenario(
        "think",
        "Why is the total off by one cent?",
        (
            (
                Think("**Checking the rounding**\n\nThe total is summed first. " * 12, SLOW),
                Say("The sum is rounded once at the end; round each line instead."),
            ),
        ),
    ),
    Scenario(
        "silent",
        "Check whether the flaky test is a race",
        ((Pause(SLOW), Say("It is a race: the fixture closes the pool too early.")),),
    ),
    Scenario(
        "tool",
        "Run the slow test suite",
        ((Say("Running the suite now."), SUITE), (Say("All 3 slow tests passed."),)),
    ),
    Scenario(
        "approve_shell",
        "Clean up the build directory",
        (
            (
                Say("I'll remove the old build output first."),
                _shell("rm -rf build/ && mkdir build", "Recreate the build directory", ask=True),
            ),
            (Say("The build directory is clean."),),
        ),
    ),
    Scenario(
        "approve_long",
        "Deploy the staging stack",
        (
            (
                Say("I'll bring the stack up."),
                _shell(
                    "docker compose -f compose.staging.yml pull && \\\n"
                    "  docker compose -f compose.staging.yml up -d --remove-orphans && \\\n"
                    "  ./scripts/wait-healthy.sh --timeout 120 --service api --service worker",
                    "Deploy the staging stack and wait until it is healthy",
                    ask=True,
                ),
            ),
            (Say("Staging is not up: docker is missing here."),),
        ),
    ),
    Scenario(
        "approve_edit",
        "Fix the rounding bug in cart.py",
        (
            (Say("Let me look at the file."), Use("read", {"path": "cart.py"})),
            (
                Say("The total is rounded once; I'll round each line."),
                Use(
                    "edit",
                    {
                        "path": "cart.py",
                        "old": "    return round(sum(p * q for p, q in lines), 2)\n",
                        "new": "    return sum(round(p * q, 2) for p, q in lines)\n",
                    },
                ),
            ),
            (Say("Fixed: each line is rounded before summing."),),
        ),
    ),
    Scenario(
        "approve_write",
        "Add a settings module",
        (
            (Use("write", {"path": "settings.py", "content": "import os\n\nTIMEOUT = 30\n"}),),
            (Say("Added `settings.py`."),),
        ),
    ),
    Scenario(
        "approve_fetch",
        "Read the price list page",
        (
            (Use("fetch", {"url": "https://prices.example.org/list"}),),
            (Say("The list has three prices."),),
        ),
    ),
    Scenario(
        "approve_mcp",
        "Send the invoice to the customer",
        (
            (
                Say("I'll send it."),
                Use("mcp", {"name": "send_invoice", "with": {"customer": "Nordwind"}}),
            ),
            (Say("The invoice is sent."),),
        ),
    ),
    Scenario(
        "ask_one",
        "Add a cache to the API",
        ((Say("One thing first."), Use("ask", {"choices": (CACHE,)})), (Say("All right."),)),
    ),
    Scenario(
        "ask_many",
        "Set up continuous integration",
        ((Use("ask", {"choices": (CHECKS,)}),), (Say("I'll set those up."),)),
    ),
    Scenario(
        "ask_two",
        "Choose the database setup with me",
        (
            (Say("Two decisions first."), Use("ask", {"choices": (DATABASE, SEED)})),
            (Say("Good, both noted."),),
        ),
    ),
    Scenario(
        "plan",
        "Plan the refactor of the payment module",
        (
            (Say("I have read the module."), Use("plan", {"plan": PLAN})),
            (Use("plan", {"plan": PLAN}),),
            (Say("Starting with step 1 when you are ready."),),
        ),
    ),
    Scenario(
        "todo",
        "Work through the release checklist",
        (
            (
                Say("I'll track this."),
                Use("todo", {"items": ("Bump the version", "Write the changelog"), "done": 0}),
            ),
            (SUITE,),
            (Say("The version is bumped; the changelog is next."),),
        ),
    ),
    Scenario(
        "subagent",
        "Have a subagent look for dead code",
        (
            (
                Say("I'll hand that to a subagent."),
                Use("subagent", {"why": "Find dead code", "prompt": SEARCH}),
            ),
            (Say("The subagent found two unused helpers."),),
        ),
    ),
    Scenario("sub_search", SEARCH, ((Say("Looking."), SUITE), (Say(FLOW, 20),))),
    Scenario(
        "subagent_approve",
        "Have a subagent tidy the logs",
        (
            (Use("subagent", {"why": "Tidy the logs", "prompt": COMPRESS}),),
            (Say("The logs are tidy."),),
        ),
    ),
    Scenario(
        "sub_compress",
        COMPRESS,
        ((_shell("gzip -9 logs/*.log", "Compress old logs", ask=True),), (Say("Compressed."),)),
    ),
    Scenario(
        "background",
        "Start the dev server in the background",
        (
            (
                Say("Starting it in the background."),
                _shell("./dev_server.sh", "Start the dev server", background=True),
            ),
            (Say("The dev server is running in the background on port 5173."),),
        ),
    ),
    Scenario(
        "asked_in_prose",
        "Is the retry helper still used?",
        (
            (
                Say(
                    "It is used in two places, both in tests.\n\nShall I remove it now, or would "
                    "you rather keep it for the next release?",
                    0.4,
                ),
            ),
        ),
    ),
    Scenario(
        "dialog_quoted",
        "Show me what an approval prompt looks like",
        ((Say(DIALOG_QUOTED, 0.4),),),
    ),
    Scenario(
        "long_reply",
        "List every module with a short description",
        ((Say("Every module:\n\n" + MODULES, 1.5),),),
    ),
    Scenario(
        "error_500",
        "Summarise the changelog",
        ((Fail(500, "api_error", "Internal server error"),),),
    ),
    Scenario(
        "error_429",
        "Summarise the readme",
        ((Fail(429, "rate_limit_error", "Rate limit reached for requests.", retry_after=8),),),
    ),
    Scenario(
        "error_401",
        "Summarise the licence",
        ((Fail(401, "authentication_error", "invalid x-api-key"),),),
    ),
    Scenario(
        "error_400",
        "Summarise the tests",
        ((Fail(400, "invalid_request_error", "prompt is too long: 215000 tokens"),),),
    ),
)

_BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}

FALLBACK = Scenario("fallback", "", ((Say("Understood. Nothing else to do."),),))
"""Played for a prompt that holds no known sentence."""

TITLE = Scenario("title", "", ((Say('{"title": "Shop API work", "isNewTopic": false}'),),))
"""Played for an agent's own request for a session title."""

COMPACT = Scenario(
    "compact",
    "",
    (
        (
            Say(
                "<summary>\nThe user asked about the shop. Pending: none.\n</summary>",
                12,
            ),
        ),
    ),
)
"""Played for an agent's own request to summarise the conversation."""


def named(name: str) -> Scenario:
    """The scenario of that name; `KeyError` when there is none."""
    return _BY_NAME[name]


def find(text: str) -> Scenario | None:
    """The scenario whose sentence stands last in `text`; the longer one where two start there."""
    best: tuple[int, int, Scenario] | None = None
    for scenario in SCENARIOS:
        # Agents may drop a final question mark (Gemini's composer opens its help on `?`).
        sentence = scenario.sentence.rstrip("?")
        at = text.rfind(sentence)
        if at >= 0 and (best is None or (at, len(sentence)) > best[:2]):
            best = (at, len(sentence), scenario)
    return best[2] if best else None
