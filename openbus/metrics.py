"""Prometheus text: counts and durations of this process, no names of panes and no content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from openbus.evidence import SourceReport
from openbus.evidence_metrics import EvidenceMetrics
from openbus.stats import BUCKETS
from openbus.watcher import Watcher


class Metrics:
    """One registry per service, so that tests and several services in a process do not meet."""

    def __init__(
        self, watcher: Watcher, evidence: Callable[[], Sequence[SourceReport]] | None = None
    ) -> None:
        self._watcher = watcher
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        if evidence is not None:
            self._registry.register(EvidenceMetrics(evidence))
        ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        """The exposition, version 0.0.4."""
        return generate_latest(self._registry)

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        """Called by the registry for each scrape."""
        watcher = self._watcher
        stats = watcher.stats
        yield self._states()
        yield _gauge("openbus_servers", "tmux servers watched", len(watcher.servers))
        yield _gauge(
            "openbus_servers_stale",
            "tmux servers that do not answer",
            sum(server.stale for server in watcher.servers),
        )
        yield _gauge("openbus_subscribers", "readers of the bus", watcher.bus.subscribers)
        yield _gauge("openbus_tick_seconds", "present time between two batches", stats.tick)
        yield _gauge(
            "openbus_signals_lost",
            "1 when some terminals cannot be watched and are polled",
            int(watcher.signals.problem is not None),
        )
        yield _counter("openbus_batches", "requests for screens", stats.batches)
        yield _counter("openbus_captures", "screens taken", stats.captures)
        yield _counter("openbus_batch_seconds", "time taken by batches", stats.batch_seconds)
        yield _counter("openbus_reads", "screens read", watcher.pipeline.reads)
        yield _counter("openbus_read_failures", "reads that raised", watcher.pipeline.failures)
        yield _counter("openbus_tmux_timeouts", "tmux calls abandoned", stats.silent)
        yield _labelled("openbus_tmux_troubles", "tmux calls that failed", "kind", stats.troubles)
        yield _labelled("openbus_events", "events published", "event", stats.events)
        yield self._delays()

    def _states(self) -> Metric:
        family = GaugeMetricFamily(
            "openbus_panes", "panes by state", labels=["activity", "attention"]
        )
        counted = Counter((state.activity, state.attention) for state in self._watcher.bus.states)
        for (activity, attention), count in sorted(counted.items()):
            family.add_metric([activity, attention], count)
        return family

    def _delays(self) -> Metric:
        stats = self._watcher.stats
        buckets: list[tuple[str, float]] = []
        total = 0
        for bound in BUCKETS:
            total += stats.delay_buckets[bound]
            buckets.append((str(bound), total))
        buckets.append(("+Inf", stats.delay_count))
        family = HistogramMetricFamily(
            "openbus_publish_delay_seconds", "from the first sign of a change to its publication"
        )
        family.add_metric([], buckets, stats.delay_sum)
        return family


def _gauge(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family


def _counter(name: str, text: str, value: float) -> Metric:
    family = CounterMetricFamily(name, text)
    family.add_metric([], value)
    return family


def _labelled(name: str, text: str, label: str, values: Counter[str]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for value, count in sorted(values.items()):
        family.add_metric([value], count)
    return family
