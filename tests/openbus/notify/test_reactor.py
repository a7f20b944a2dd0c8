"""The reactor on a real bus with the real push manager: quick, once, private, in nobody's way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from openbus.bus import Bus
from openbus.clock import Clock
from openbus.events import Change
from openbus.model import Option, Question
from openbus.notify.content import Parcel
from openbus.notify.outbox import FILE
from openbus.notify.policy import Rules
from openbus.notify.post import Post
from openbus.notify.reactor import Notifier
from openbus.notify.records import Channel, Outcome
from openbus.notify.sender import Sender
from openbus.notify.settings import NOBODY, NotifySettings, load
from openbus.push import PushManager, Remembered, Sighting
from tests.openbus.live_support import asking, pane, reading
from tests.openbus.notify.push_service import Browser, PushService, public_address

PHONE = Channel(name="phone", type="webpush", replaces=True, withdraws=True)
SECRETS = ("sk-live-4242424242424242", "planted-screen-text", "planted-title")


class Recorder:
    """A sender that keeps what it was given."""

    def __init__(self, channel: Channel = PHONE) -> None:
        self.channel = channel
        self.parcels: list[Parcel] = []
        self.times: list[float] = []
        self.hangs = False
        self.arrived = asyncio.Event()

    async def send(self, parcel: Parcel) -> Outcome:
        if self.hangs:
            await asyncio.sleep(3600)
        self.parcels.append(parcel)
        self.times.append(time.monotonic())
        self.arrived.set()
        return Outcome(result="accepted", face=parcel.face)

    async def close(self) -> None:
        return None

    async def until(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.parcels) < count:
                self.arrived.clear()
                await self.arrived.wait()

    @property
    def verbs(self) -> list[str]:
        return [parcel.verb for parcel in self.parcels]


class OnlyThese(Post):
    """A post with senders of the test's own."""

    def __init__(self, folder: Path, *senders: Recorder) -> None:
        super().__init__(NotifySettings(), folder)
        self._mine: dict[str, Sender] = {sender.channel.name: sender for sender in senders}

    @property
    def senders(self) -> dict[str, Sender]:
        return self._mine


class World:
    """A push manager and a bus, as the service puts them together."""

    def __init__(self, folder: Path, memory: tuple[Remembered, ...] = ()) -> None:
        self.folder = folder
        self.bus = Bus()
        self.clock = Clock()
        self.manager = PushManager("box", memory=memory)
        self.lines: list[str] = []

    def sees(self, read: object, number: int = 1) -> None:
        key = f"box:default:100-1700000000:%{number}:{200 + number}"
        here = pane(key=key, title=SECRETS[2], cwd="/home/me/shop")
        now = self.clock.now()
        self.bus.publish(self.manager.observe(Sighting(pane=here, reading=read), now))  # type: ignore[arg-type]

    async def settles(self, seconds: float = 0.35) -> None:
        """Time passes for the push manager: what is ripe is announced."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.05)
            self.bus.publish(self.manager.advance(self.clock.now()))

    def gone(self, number: int = 1) -> None:
        key = f"box:default:100-1700000000:%{number}:{200 + number}"
        self.bus.publish(self.manager.gone(key, self.clock.now()))

    @asynccontextmanager
    async def notified(
        self, *senders: Recorder, settings: NotifySettings | None = None, post: Post | None = None
    ) -> AsyncIterator[Notifier]:
        notifier = Notifier(
            self.bus,
            self.manager.remember,
            self.folder,
            settings or NotifySettings(),
            warn=self.lines.append,
            clock=self.clock,
            post=lambda: post or OnlyThese(self.folder, *senders),
        )
        self.bus.listen(notifier.hear)
        task = asyncio.create_task(notifier.run())
        await notifier.started()
        try:
            yield notifier
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_an_ask_reaches_the_phone_and_leaves_it_when_it_is_answered(tmp_path: Path) -> None:
    world, phone = World(tmp_path), Recorder()
    async with world.notified(phone):
        world.sees(reading("working"))
        world.sees(asking())
        await world.settles()
        await phone.until(1)
        assert phone.parcels[0].title == "codex needs you"
        assert "$ make deploy" in phone.parcels[0].body
        world.sees(reading("working"))
        await asyncio.sleep(0.35)
        world.sees(reading("working"))
        await phone.until(2)
    assert phone.verbs == ["announce", "withdraw"]
    assert phone.parcels[0].tag == phone.parcels[1].tag


async def test_it_takes_less_than_a_second(tmp_path: Path) -> None:
    world, phone = World(tmp_path), Recorder()
    async with world.notified(phone):
        started = time.monotonic()
        world.sees(asking())
        await world.settles()
        await phone.until(1)
    assert phone.times[0] - started < 1.0


async def test_a_pane_that_ends_takes_its_notification_along(tmp_path: Path) -> None:
    world, phone = World(tmp_path), Recorder()
    async with world.notified(phone):
        world.sees(asking())
        await world.settles()
        await phone.until(1)
        world.gone()
        await phone.until(2)
    assert phone.verbs == ["announce", "withdraw"]


async def test_after_a_restart_it_is_not_told_again_and_still_taken_back(tmp_path: Path) -> None:
    world, phone = World(tmp_path), Recorder()
    async with world.notified(phone):
        world.sees(asking())
        await world.settles()
        await phone.until(1)
    again, same = World(tmp_path, tuple(world.manager.remember())), Recorder()
    async with again.notified(same):
        again.sees(asking())
        await again.settles(1.0)
        assert same.parcels == []
        again.gone()
        await same.until(1)
    assert same.verbs == ["withdraw"]
    assert same.parcels[0].tag == phone.parcels[0].tag


async def test_an_ask_announced_just_before_the_process_died_is_told_after_it(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.sees(asking())
    await world.settles()  # announced, and nobody there to hear it
    again, phone = World(tmp_path, tuple(world.manager.remember())), Recorder()
    again.sees(asking())
    async with again.notified(phone):
        await phone.until(1)
    assert phone.verbs == ["announce"]


async def test_a_thousand_asks_in_a_second_are_three_and_one(tmp_path: Path) -> None:
    world, phone = World(tmp_path), Recorder()
    async with world.notified(phone) as notifier:
        for number in range(1, 1001):
            world.sees(asking(f"make {number}"), number)
        await asyncio.sleep(0.3)
        quiet = Bus()
        changes = world.manager.advance(world.clock.now())
        alone = publish_time(quiet, changes)
        beside = publish_time(world.bus, changes)
        assert sum(change.event == "announce" for change in changes) == 1000
        await phone.until(4)
        told = await notifier.log(10_000)
    assert [len(parcel.places) for parcel in phone.parcels] == [1, 1, 1, 8]
    assert phone.parcels[3].title == "997 panes need you"
    assert len({entry.tag for entry in told if entry.what == "sent"}) == 1000
    # Publishing only appends to a queue here: both take a few milliseconds for a thousand events.
    assert beside < alone + 0.05


def publish_time(bus: Bus, changes: list[Change]) -> float:
    started = time.perf_counter()
    bus.publish(changes)
    return time.perf_counter() - started


async def test_a_hanging_channel_keeps_no_other(tmp_path: Path) -> None:
    world, phone = World(tmp_path), Recorder()
    stuck = Recorder(Channel(name="stuck", type="command"))
    stuck.hangs = True
    async with world.notified(stuck, phone):
        for number in (1, 2):
            world.sees(asking(), number)
        await world.settles()
        await phone.until(2)
    assert stuck.parcels == []


async def test_what_changed_on_the_screen_changes_on_the_phone(tmp_path: Path) -> None:
    world, phone = World(tmp_path), Recorder()
    async with world.notified(phone):
        world.sees(asking())
        await world.settles()
        await phone.until(1)
        more = asking()
        question = Question(
            kind="approval",
            text="Run this?",
            command="make deploy",
            options=(Option(label="Yes"), Option(label="No")),
        )
        world.sees(reading_with(more, question))
        await phone.until(2)
    assert phone.verbs == ["announce", "update"]
    assert phone.parcels[1].options == ("Yes", "No")
    assert phone.parcels[1].quiet


def reading_with(read: object, question: Question) -> object:
    import msgspec

    return msgspec.structs.replace(read, question=question)  # type: ignore[type-var]


async def test_without_a_channel_the_log_tells_and_one_line_warns(tmp_path: Path) -> None:
    world = World(tmp_path)
    post = Post(NotifySettings(), tmp_path)
    async with world.notified(post=post) as notifier:
        world.sees(asking())
        await world.settles(0.6)
        assert [entry.what for entry in await notifier.log(10)] == ["no channel", "would send"]
        assert notifier.warnings() == [NOBODY]


async def test_no_text_of_a_screen_is_kept_anywhere(tmp_path: Path) -> None:
    world, phone = World(tmp_path), Recorder()
    read = asking(f"deploy {SECRETS[1]}", f"Use {SECRETS[0]}?", headline=SECRETS[1])
    async with world.notified(phone):
        world.sees(read)
        await world.settles()
        await phone.until(1)
        kept = contents(tmp_path)
        world.gone()
        await phone.until(2)
    kept |= contents(tmp_path)
    assert FILE in kept
    for planted in (*SECRETS, "Use", "deploy"):
        assert not any(planted.encode() in data for data in kept.values())
        assert planted not in "\n".join(world.lines)
    sent = phone.parcels[0].title + phone.parcels[0].body
    assert SECRETS[1] in sent and SECRETS[0] not in sent


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - any condition of a test
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("private", [False, True])
async def test_from_the_screen_to_the_browser(tmp_path: Path, private: bool) -> None:
    world, browser = World(tmp_path), Browser()
    service = PushService([browser], "")
    settings = NotifySettings(rules=Rules(private=private))
    async with service.listening() as transport:
        post = Post(settings, tmp_path, transport=transport, resolve=public_address)
        service.public_key = post.vapid().public
        async with world.notified(post=post, settings=settings) as notifier:
            post.devices.add(
                browser.endpoint,
                browser.keys["p256dh"],
                browser.keys["auth"],
                device="phone",
                label="my phone",
                browser="b1",
                now=1,
            )
            notifier.look_again()
            world.sees(asking())
            await world.settles()
            await until(lambda: browser.shows)
            [shown] = browser.shows.values()
            assert ("make deploy" in shown["body"]) is not private
            world.gone()
            await until(lambda: not browser.shows)
            assert [message["type"] for message in browser.received] == ["show", "close"]
            # A second device, and one that the service no longer knows.
            service.browsers.clear()
            world.sees(asking(), 2)
            await world.settles()
            await until(lambda: not post.devices.all())
            await until(lambda: notifier.warnings())
            assert notifier.warnings() == [NOBODY]


async def test_a_page_that_shows_the_pane_keeps_its_browser_silent(tmp_path: Path) -> None:
    world = World(tmp_path)
    phone = Recorder(Channel(name="webpush:x", type="webpush", browser="b1"))
    async with world.notified(phone) as notifier:
        key = "box:default:100-1700000000:%1:201"
        notifier.pages.report("b1", key, world.clock.now())
        world.sees(asking())
        await world.settles(0.6)
        assert phone.parcels == []
        notifier.pages.report("b1", None, world.clock.now())
        await phone.until(1)


async def test_sleep_and_a_jumping_clock_lose_and_repeat_nothing(tmp_path: Path) -> None:
    world, phone = World(tmp_path), Recorder()
    async with world.notified(phone):
        world.sees(asking())
        await world.settles()
        await phone.until(1)
        world.clock._offset -= 3600  # the machine slept for an hour
        world.sees(asking(), 2)
        await world.settles()
        await phone.until(2)
        await asyncio.sleep(0.3)
    assert phone.verbs == ["announce", "announce"]


async def test_the_settings_of_a_user_are_used(tmp_path: Path) -> None:
    path = tmp_path / "notify.toml"
    path.write_text("[channels.bad]\nurl = 'nosuch://x'\n[channels.line]\ntmux = 'message'\n")
    path.chmod(0o600)
    world = World(tmp_path)
    settings = load({"OPENBUS_CONFIG_DIR": str(tmp_path)})
    async with world.notified(settings=settings, post=Post(settings, tmp_path)) as notifier:
        await asyncio.sleep(0.2)
        assert [report.name for report in notifier.reports()] == ["line"]
        assert len(world.lines) == 1 and "[channels.bad]" in world.lines[0]
