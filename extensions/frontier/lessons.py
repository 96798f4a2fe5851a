"""What agents learn during a crawl, as bytes that only they understand: each tells, all hear, and a crawl that is resumed has heard it all.

A Redis stream holds what was told; now and then somebody keeps the sum of it all, with the place in the stream up to which it goes, so that the stream may
stay short. Lessons make a crawl better and never decide whether a URL is fetched: what is lost of them is no loss of pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from extensions.frontier.faults import REDIS_FAULTS, fault_of
from extensions.frontier.keys import learned_key, lessons_key

if TYPE_CHECKING:
    from redis.asyncio import Redis

MOST_LESSONS = 20_000
"""Kept in the stream: what sixteen agents tell in an hour."""
AT_ONCE = 1000
BEGINNING = "0-0"


class Lessons:
    """Of one crawl, in the ears of one agent. Raises `FrontierUnavailable` when Redis does not serve."""

    def __init__(self, client: Redis, crawl: str, agent: str) -> None:
        self._client: Any = client
        self._lessons = lessons_key(crawl)
        self._learned = learned_key(crawl)
        self._agent = agent.encode()
        self._heard: str = BEGINNING

    async def recall(self) -> list[bytes]:
        """All that was ever told in this crawl, by whomever: the kept sum first, if there is one."""
        try:
            state, heard = await self._client.hmget(self._learned, "state", "heard")
            self._heard = heard.decode() if heard else BEGINNING
            told = [lesson for _, lesson in await self._listen()]
        except REDIS_FAULTS as error:
            raise fault_of(error) from error
        return [state, *told] if state else told

    async def exchange(self, lesson: bytes) -> list[bytes]:
        """Tell what was learned since the last time, if anything; what the others have told since then."""
        try:
            if lesson:
                fields = {"agent": self._agent, "lesson": lesson}
                await self._client.xadd(self._lessons, fields, maxlen=MOST_LESSONS, approximate=True)
            return [told for agent, told in await self._listen() if agent != self._agent]
        except REDIS_FAULTS as error:
            raise fault_of(error) from error

    async def keep(self, state: bytes) -> None:
        """Keep the sum of all that was told up to now, this agent's own included: call `exchange` just before."""
        try:
            await self._client.hset(self._learned, mapping={"state": state, "heard": self._heard})
        except REDIS_FAULTS as error:
            raise fault_of(error) from error

    async def _listen(self) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = []
        while True:
            entries = await self._client.xrange(self._lessons, min=f"({self._heard}", count=AT_ONCE)
            for name, fields in entries:
                self._heard = name.decode()
                found.append((fields[b"agent"], fields[b"lesson"]))
            if len(entries) < AT_ONCE:
                return found
