"""The evidence envelope and its cache know no agent and no clock."""

from __future__ import annotations

import msgspec

from openbus.evidence import (
    Binding,
    Envelope,
    EvidenceCache,
    Generation,
    NativeStatus,
    Scope,
    Snapshot,
    Values,
    clean,
    fingerprint,
    incarnation,
)

HERE = Scope(host="here", uid=1000, endpoint="/run/a.sock", home="/home/dev/.codex")
ELSEWHERE = Scope(host="here", uid=1000, endpoint="/run/b.sock", home="/home/dev/other")
FIRST = Generation(server_pid=10, inode=1)
SECOND = Generation(server_pid=11, inode=2)


def snapshot(
    thread: str = "t",
    *,
    scope: Scope = HERE,
    generation: Generation = FIRST,
    at: int = 1_000,
    name: str | None = None,
    activity: str = "idle",
) -> Snapshot:
    return Snapshot(
        scope=scope,
        thread=thread,
        server_version="0.171.0",
        generation=generation,
        observed_at=at,
        expires_at=at + 90_000,
        values=Values(name=name),
        native_status=NativeStatus(activity=activity),  # type: ignore[arg-type]
    )


def cache(*snapshots: Snapshot) -> EvidenceCache:
    made = EvidenceCache()
    for given in snapshots:
        made.begin(given.scope, given.generation)
        made.put(given)
    return made


def test_the_same_thread_id_in_another_scope_is_another_thread() -> None:
    made = cache(snapshot(name="here"), snapshot(scope=ELSEWHERE, name="elsewhere"))
    found = made.get(HERE, "t")
    other = made.get(ELSEWHERE, "t")
    assert found is not None and found.values.name == "here"
    assert other is not None and other.values.name == "elsewhere"


def test_another_generation_forgets_what_its_predecessor_said() -> None:
    made = cache(snapshot())
    assert made.begin(HERE, SECOND)
    assert made.get(HERE, "t") is None
    assert not made.begin(HERE, SECOND)


def test_a_snapshot_of_a_past_generation_comes_too_late() -> None:
    made = cache(snapshot())
    made.begin(HERE, SECOND)
    assert not made.put(snapshot(generation=FIRST))
    assert made.get(HERE, "t") is None


def test_an_unchanged_poll_says_nothing_new() -> None:
    made = cache(snapshot(at=1_000))
    assert not made.put(snapshot(at=31_000))
    found = made.get(HERE, "t")
    assert found is not None and found.observed_at == 31_000
    assert made.put(snapshot(at=61_000, name="renamed"))


def test_the_fingerprint_ignores_when_something_was_observed() -> None:
    assert fingerprint(snapshot(at=1)) == fingerprint(snapshot(at=2))
    assert fingerprint(snapshot()) != fingerprint(snapshot(activity="active"))
    assert fingerprint(snapshot()) != fingerprint(snapshot(scope=ELSEWHERE))


def test_a_snapshot_expires_and_a_clock_that_went_back_makes_it_stale() -> None:
    given = snapshot(at=1_000)
    assert given.fresh(1_000) and given.fresh(90_999)
    assert not given.fresh(91_000)
    assert not given.fresh(999)


def test_the_cache_is_bounded_and_drops_the_longest_unseen() -> None:
    made = EvidenceCache(limit=2)
    made.begin(HERE, FIRST)
    for thread in ("a", "b", "a", "c"):
        made.put(snapshot(thread))
    assert made.get(HERE, "b") is None
    assert made.get(HERE, "a") is not None and made.get(HERE, "c") is not None
    assert len(made) == 2


def test_ages_count_from_the_observation() -> None:
    made = cache(snapshot("a", at=1_000), snapshot("b", at=3_000))
    assert sorted(made.ages(5_000)) == [2_000, 4_000]


def test_native_text_is_cut_and_stripped_of_control_characters() -> None:
    assert clean("plain") == ("plain", False)
    assert clean("\x1b[31mred\x07\n line ") == ("[31mred line", False)
    kept, cut = clean("x" * 1_000_000)
    assert len(kept) == 200 and cut


def test_the_incarnation_is_what_a_respawn_changes() -> None:
    assert incarnation("host:default:77-1796070000:%3:4711") == "%3:4711"


def test_a_held_or_doubtful_binding_feeds_no_reader() -> None:
    assert Binding(verdict="bound", how="title", thread="t").usable
    assert not Binding(verdict="bound", how="held: title", thread="t", held=True).usable
    assert not Binding(verdict="candidate", how="start time", candidates=("t",)).usable
    assert not Binding(verdict="stale", how="gone", thread="t").usable


def test_an_envelope_without_a_snapshot_is_never_fresh_and_travels_as_json() -> None:
    given = Envelope(source="s/1", pane="p", incarnation="i", binding=Binding())
    assert not given.fresh(0)
    with_values = Envelope(
        source="s/1", pane="p", incarnation="i", binding=Binding(), snapshot=snapshot()
    )
    again = msgspec.json.decode(msgspec.json.encode(with_values), type=Envelope)
    assert again == with_values
