"""Screens become readings: grid parsing, widgets, manifests, the rules reader. Pure.

Stable entry points: `parse` (bytes of a capture → `Screen`) and `read` (screen → reading).
"""

from openbus.screen.grid import Screen, parse
from openbus.screen.reader import read

__all__ = ["Screen", "parse", "read"]
