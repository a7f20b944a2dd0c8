"""All senders: those of `notify.toml` and one for each browser that asked for Web Push."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx

from openbus.notify.apprise_sender import AppriseSender, UrlError
from openbus.notify.command import CommandSender
from openbus.notify.devices import PUSH_HOSTS, Devices
from openbus.notify.ntfy import NtfySender
from openbus.notify.ntfy import parse as parse_ntfy
from openbus.notify.records import Channel
from openbus.notify.sender import LogSender, Sender
from openbus.notify.settings import ChannelSettings, NotifySettings
from openbus.notify.tmux_message import TmuxSender
from openbus.notify.vapid import Vapid
from openbus.notify.vapid import load as load_vapid
from openbus.notify.webpush import Resolve, WebPushSender
from openbus.store import StoreError
from openbus.tmux.connection import Connection


class Post:
    """Builds senders and holds what they share. `transport` and `resolve` stand in for the network
    in tests."""

    def __init__(
        self,
        settings: NotifySettings,
        folder: Path,
        *,
        connect: Callable[[str], Connection] = Connection,
        binary: str = "tmux",
        transport: httpx.AsyncBaseTransport | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        self.devices = Devices(folder, settings.webpush.hosts)
        self.problems: list[str] = list(settings.problems)
        """What cannot be used, one line each, without secrets."""
        self._settings = settings
        self._folder = folder
        self._connect = connect
        self._binary = binary
        self._transport = transport
        self._resolve = resolve
        self._client: httpx.AsyncClient | None = None
        self._vapid: Vapid | None = None
        self._stamp = -1
        self._none = LogSender()
        self._configured: dict[str, Sender] = {}
        for name, channel in settings.channels.items():
            sender = self._build(name, channel)
            if sender is not None:
                self._configured[name] = sender
        self._browsers: dict[str, Sender] = {}
        self.refresh()

    @property
    def senders(self) -> dict[str, Sender]:
        """By channel name; the stand-in that only logs where there is no other."""
        return self._configured | self._browsers or {self._none.channel.name: self._none}

    @property
    def channels(self) -> list[Channel]:
        return [sender.channel for sender in self.senders.values()]

    def refresh(self) -> bool:
        """Read the devices again if their file changed; whether it did."""
        stamp = self.devices.stamp()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            hosts = (*PUSH_HOSTS, *self._settings.webpush.hosts)
            self._browsers = {}
            for subscription in self.devices.all():
                sender = WebPushSender(
                    subscription, self.vapid(), self._http(), hosts, self._resolve
                )
                self._browsers[sender.channel.name] = sender
        except StoreError as error:
            self._trouble(str(error))
        return True

    def vapid(self) -> Vapid:
        """Our key for Web Push, made on first use. Raises `StoreError`."""
        if self._vapid is None:
            self._vapid = load_vapid(self._folder, self._settings.webpush.contact)
        return self._vapid

    async def close(self) -> None:
        """Let go of everything."""
        for sender in self.senders.values():
            await sender.close()
        if self._client is not None:
            await self._client.aclose()

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(transport=self._transport)
        return self._client

    def _trouble(self, line: str) -> None:
        if line not in self.problems:
            self.problems.append(line)

    def _build(self, name: str, channel: ChannelSettings) -> Sender | None:
        device = channel.device or ("desk" if channel.tmux is not None else "phone")
        described = Channel(name=name, type="apprise", device=device, kinds=channel.kinds)
        if channel.tmux is not None:
            described = _typed(described, "tmux", live=False)
            return TmuxSender(described, channel.tmux, self._connect, self._binary)
        if channel.command is not None:
            return CommandSender(_typed(described, "command", live=True), channel.command)
        topic = parse_ntfy(channel.url or "")
        if topic is not None:
            return NtfySender(_typed(described, "ntfy", live=True), topic, self._http())
        try:
            return AppriseSender(described, channel.url or "")
        except UrlError as error:
            self._trouble(f"notify.toml: [channels.{name}] url: {error}; the others are used")
            return None


def _typed(channel: Channel, kind: str, *, live: bool) -> Channel:
    """`live`: what it shows can be replaced and taken back."""
    return Channel(
        name=channel.name,
        type=kind,
        device=channel.device,
        kinds=channel.kinds,
        replaces=live,
        withdraws=live,
    )
