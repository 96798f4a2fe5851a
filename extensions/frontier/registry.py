"""Where the agents of a crawl tell each other that they are at work: one Redis hash, an entry per agent, written by that agent alone.

It decides who looks after which partition, and what the summary says. It does not decide who may fetch: that is a lease's part, so an entry
that is out of date, or lost, costs time and never politeness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgpack

from extensions.frontier.faults import REDIS_FAULTS, fault_of
from extensions.frontier.keys import agents_key
from extensions.frontier.records import AgentRecord
from extensions.frontier.routes import Routes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redis.asyncio import Redis


class Registry:
    """The agents' hash of one crawl. Raises `FrontierUnavailable` when Redis does not serve."""

    def __init__(self, client: Redis, crawl: str) -> None:
        self._client: Any = client
        self._routes = Routes(client)
        self._key = agents_key(crawl)

    async def read(self) -> dict[str, AgentRecord]:
        """All entries, by name."""
        try:
            return _records(await self._client.hgetall(self._key))
        except REDIS_FAULTS as error:
            raise fault_of(error) from error

    async def write(self, record: AgentRecord) -> dict[str, AgentRecord]:
        """Put the agent's own entry; all entries after it, in one round trip."""
        entry = msgpack.packb(
            [record.place, record.capacity, record.joined_ms, record.beat_ms, record.left, dict(record.stats)]
        )
        try:
            replies = await self._routes.ask(
                [(self._key, ("HSET", self._key, record.name, entry)), (self._key, ("HGETALL", self._key))]
            )
            return _records(replies[-1])
        except REDIS_FAULTS as error:
            raise fault_of(error) from error

    async def forget(self, names: Iterable[str]) -> None:
        """Remove the entries of an earlier run."""
        gone = list(names)
        if not gone:
            return
        try:
            await self._client.hdel(self._key, *gone)
        except REDIS_FAULTS as error:
            raise fault_of(error) from error


def _records(found: dict[bytes, bytes]) -> dict[str, AgentRecord]:
    return {name.decode(): AgentRecord(name.decode(), *msgpack.unpackb(entry)) for name, entry in found.items()}
