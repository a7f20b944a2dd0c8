"""Evidence sources in Prometheus: health, panes by verdict and whatever a source counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from openbus.evidence import SourceReport


class EvidenceMetrics(Collector):
    """Asks the sources for each scrape."""

    def __init__(self, reports: Callable[[], Sequence[SourceReport]]) -> None:
        self._reports = reports

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        health = GaugeMetricFamily(
            "openbus_evidence_endpoints", "endpoints by health", labels=["source", "health"]
        )
        panes = GaugeMetricFamily(
            "openbus_evidence_panes", "panes by binding", labels=["source", "verdict"]
        )
        counts = CounterMetricFamily(
            "openbus_evidence", "what a source counts", labels=["source", "what", "kind"]
        )
        for report in self._reports():
            for name, number in sorted(report.health.items()):
                health.add_metric([report.source, name], number)
            for name, number in sorted(report.verdicts.items()):
                panes.add_metric([report.source, name], number)
            for what, kinds in sorted(report.counters.items()):
                for kind, value in sorted(kinds.items()):
                    counts.add_metric([report.source, what, kind], value)
        yield from (health, panes, counts)
