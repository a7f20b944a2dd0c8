"""Quiet hours in local time, across nights and changes of the clocks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from openbus.notify.quiet import QuietHours, parse

NIGHT = parse("22:00-07:00", "Europe/Berlin")


def at(text: str) -> int:
    """Epoch milliseconds of a UTC time."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-01-10T20:59:59", None),
        ("2026-01-10T21:00:00", "2026-01-11T06:00:00"),
        ("2026-01-11T02:00:00", "2026-01-11T06:00:00"),
        ("2026-01-11T05:59:59", "2026-01-11T06:00:00"),
        ("2026-01-11T06:00:00", None),
        ("2026-07-10T19:59:59", None),
        ("2026-07-10T20:00:00", "2026-07-11T05:00:00"),
    ],
)
def test_a_night_lasts_until_the_local_morning(now: str, until: str | None) -> None:
    assert NIGHT.until(at(now)) == (at(until) if until else None)


def test_the_night_of_the_spring_change_is_an_hour_shorter() -> None:
    # 2026-03-29: 02:00 becomes 03:00 in Berlin.
    assert NIGHT.until(at("2026-03-28T21:00:00")) == at("2026-03-29T05:00:00")
    assert NIGHT.until(at("2026-03-29T05:00:00")) is None


def test_the_night_of_the_autumn_change_is_an_hour_longer() -> None:
    # 2026-10-25: 03:00 becomes 02:00 in Berlin.
    assert NIGHT.until(at("2026-10-24T20:00:00")) == at("2026-10-25T06:00:00")
    assert NIGHT.until(at("2026-10-25T05:30:00")) == at("2026-10-25T06:00:00")


def test_an_end_that_the_clocks_skip_comes_an_hour_later() -> None:
    hours = parse("01:00-02:30", "Europe/Berlin")
    assert hours.until(at("2026-03-29T00:30:00")) == at("2026-03-29T01:30:00")


def test_an_end_that_comes_twice_is_its_first_coming() -> None:
    hours = parse("01:00-02:30", "Europe/Berlin")
    assert hours.until(at("2026-10-24T23:30:00")) == at("2026-10-25T00:30:00")
    assert hours.until(at("2026-10-25T01:00:00")) is None


def test_a_span_within_a_day() -> None:
    assert parse("12:00-13:30", "UTC").until(at("2026-05-05T12:59:00")) == at("2026-05-05T13:30:00")
    assert parse("12:00-24:00", "UTC").until(at("2026-05-05T23:59:00")) == at("2026-05-06T00:00:00")


def test_without_a_zone_the_machine_s_own_holds() -> None:
    now = datetime(2026, 5, 5, 23, 0).astimezone()
    end = datetime(2026, 5, 6, 7, 0).astimezone()
    assert QuietHours(start=1320, end=420).until(int(now.timestamp() * 1000)) == int(
        end.timestamp() * 1000
    )


@pytest.mark.parametrize("span", ["", "22-7", "25:00-07:00", "22:00-22:00", "22:61-07:00", "x"])
def test_what_is_no_span_is_said(span: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse(span)


@pytest.mark.parametrize("zone", ["Mars/Phobos", "../etc/passwd", ""])
def test_an_unknown_zone_is_said(zone: str) -> None:
    with pytest.raises(ValueError, match="time zone"):
        parse("22:00-07:00", zone)
