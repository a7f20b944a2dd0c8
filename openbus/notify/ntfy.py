"""ntfy, by its own HTTP interface: it can replace and, from server 2.16 on, take back."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import msgspec

from openbus.notify.content import Parcel
from openbus.notify.records import Channel, Outcome
from openbus.notify.sender import TIMEOUT, outcome_of_status

CLOUD = "ntfy.sh"


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """Where to publish. `root` is `https://host[:port]`."""

    root: str
    name: str
    user: str | None = None
    password: str | None = None
    token: str | None = None


def parse(url: str) -> Topic | None:
    """The topic of `ntfy[s]://[USER:PASSWORD@|TOKEN@]HOST[:PORT]/TOPIC` or `ntfy[s]://TOPIC` (at
    ntfy.sh); None for anything more that only Apprise understands."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("ntfy", "ntfys") or not parts.hostname or parts.query:
        return None
    path = parts.path.strip("/")
    if "/" in path:
        return None
    host, name = (parts.hostname, path) if path else (CLOUD, parts.netloc.rpartition("@")[2])
    if not path and port is not None:
        return None
    # Without a host it is the public service, which is asked over TLS alone.
    scheme = "https" if parts.scheme == "ntfys" or not path else "http"
    user, password = parts.username, parts.password
    secret = unquote(user) if user and password is None else None
    return Topic(
        root=f"{scheme}://{host}" + (f":{port}" if port else ""),
        name=name,
        user=unquote(user) if user and password is not None else None,
        password=unquote(password) if password is not None else None,
        token=secret,
    )


class NtfySender:
    """Publishes to one topic. `client` is shared and belongs to the caller."""

    def __init__(self, channel: Channel, topic: Topic, client: httpx.AsyncClient) -> None:
        self.channel = channel
        self._topic = topic
        self._client = client

    async def send(self, parcel: Parcel) -> Outcome:
        topic = self._topic
        headers = {"Authorization": f"Bearer {topic.token}"} if topic.token else {}
        request: dict[str, Any] = {"headers": headers, "timeout": TIMEOUT}
        if topic.user is not None:
            request["auth"] = (topic.user, topic.password or "")
        try:
            if parcel.verb == "withdraw":
                answer = await self._client.delete(
                    f"{topic.root}/{topic.name}/{parcel.tag}", **request
                )
            else:
                answer = await self._client.post(topic.root, json=self._message(parcel), **request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            return Outcome(result="later", reason="the server is not reached")
        except (httpx.HTTPError, httpx.InvalidURL):
            return Outcome(result="unknown", reason="the server broke off")
        if parcel.verb == "withdraw" and answer.status_code in (400, 404, 405):
            return Outcome(result="cannot", reason="this ntfy server is too old to take back")
        outcome = outcome_of_status(answer.status_code, answer.headers.get("Retry-After"))
        if outcome.result == "gone":
            # The address is the user's setting and stays one: it may be a proxy that is down.
            return Outcome(result="later", reason=outcome.reason)
        return msgspec.structs.replace(outcome, face=parcel.face)

    async def close(self) -> None:
        return None

    def _message(self, parcel: Parcel) -> dict[str, Any]:
        priority = 2 if parcel.quiet else (4 if parcel.urgency == "high" else 3)
        return {
            "topic": self._topic.name,
            "title": parcel.title,
            "message": parcel.body or parcel.title,
            "priority": priority,
            "sequence_id": parcel.tag,
        }
