"""Quiet hours: a daily span of local time, right through changes of daylight saving time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

_SPAN = re.compile(r"^(\d{1,2}):(\d{2})\s*[-–]\s*(\d{1,2}):(\d{2})$")


class QuietHours(msgspec.Struct, frozen=True, kw_only=True):
    """From `start` to `end`, minutes after local midnight; `end` <= `start` is on the next day.

    `zone` is an IANA name; None = the zone of this machine.
    """

    start: int
    end: int
    zone: str | None = None

    def until(self, now: int) -> int | None:
        """When the quiet hours that `now` (epoch ms) lies in end, or None outside of them."""
        zone = ZoneInfo(self.zone) if self.zone is not None else None
        here = datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)
        for days in (-1, 0):
            day = (here + timedelta(days=days)).date()
            begin = _instant(datetime.combine(day, time()), self.start, zone)
            later = 0 if self.end > self.start else 1440
            finish = _instant(datetime.combine(day, time()), self.end + later, zone)
            if begin <= now < finish:
                return finish
        return None


def parse(span: str, zone: str | None = None) -> QuietHours:
    """`22:00-07:00` as quiet hours. Raises `ValueError` with a sentence for the user."""
    match = _SPAN.match(span.strip())
    if match is None:
        raise ValueError(f"{span!r} is no span of time such as '22:00-07:00'")
    hours = [int(part) for part in match.groups()]
    if hours[0] > 23 or hours[2] > 24 or hours[1] > 59 or hours[3] > 59:
        raise ValueError(f"{span!r} names a time that no clock shows")
    start, end = hours[0] * 60 + hours[1], hours[2] * 60 + hours[3]
    if start == end:
        raise ValueError(f"{span!r} is empty; leave `quiet` out to have no quiet hours")
    if zone is not None:
        try:
            ZoneInfo(zone)
        except (OSError, ValueError, ZoneInfoNotFoundError) as error:
            raise ValueError(f"{zone!r} is no time zone known here, such as 'Europe/Berlin'") from (
                error
            )
    return QuietHours(start=start, end=end, zone=zone)


def _instant(midnight: datetime, minutes: int, zone: tzinfo | None) -> int:
    """The instant at which local clocks show this time. One that a change of the clocks skips comes
    later by the length of the change, one that comes twice is meant at its first coming."""
    local = midnight + timedelta(minutes=minutes)
    aware = local.astimezone() if zone is None else local.replace(tzinfo=zone)
    return int(aware.astimezone(UTC).timestamp() * 1000)
