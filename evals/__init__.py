"""How well OpenBus reads: corpus, runner, report, benchmarks."""
