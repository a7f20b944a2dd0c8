"""OpenBus: one believable state per tmux pane, on one bus."""

__version__ = "0.1.0"
