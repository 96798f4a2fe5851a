"""Many script calls in one round trip, each on one partition, on one Redis or on a Cluster of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis.exceptions import NoScriptError, RedisError

from extensions.errors import CrawlError, FrontierUnavailable
from extensions.frontier.keys import partition_key
from extensions.frontier.scripts import Script, script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis.asyncio import Redis

VERBS = ("admit", "lease", "settle", "renew", "reclaim", "peek")


@dataclass(frozen=True, slots=True)
class Call:
    """One script on one partition."""

    script: Script
    partition: int
    arguments: bytes


class Pipeline:
    """Sends calls of one crawl, in order; knows which scripts Redis has."""

    def __init__(self, client: Redis, crawl: str, rules: bytes) -> None:
        self.client = client
        self.round_trips = 0
        self._crawl = crawl
        self._rules = rules
        self._scripts_sent = False

    async def run(self, calls: Sequence[Call]) -> list[Any]:
        """The replies in order. A call that Redis did not know yet, and only such a one, is sent again. Raises `FrontierUnavailable`."""
        if not calls:
            return []
        try:
            if not self._scripts_sent:
                # All of them before the first use: if Redis knew only some, an exchange would run out of its order.
                await self._send_scripts()
            replies = await self._send(calls)
            unknown = [place for place, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
            if unknown:
                await self._send_scripts()
                again = await self._send([calls[place] for place in unknown])
                for place, reply in zip(unknown, again, strict=True):
                    replies[place] = reply
        except (RedisError, OSError) as error:
            return [unavailable(error)] * len(calls)
        return [unavailable(reply) if isinstance(reply, Exception) else reply for reply in replies]

    async def run_all(self, calls: Sequence[Call]) -> list[Any]:
        """The same, all or nothing. Raises the first error."""
        replies = await self.run(calls)
        for reply in replies:
            if isinstance(reply, CrawlError):
                raise reply
        return replies

    async def _send_scripts(self) -> None:
        self.round_trips += 1
        pipe = self.client.pipeline(transaction=False)
        for verb in VERBS:
            pipe.script_load(script(verb).source)
        await pipe.execute()
        self._scripts_sent = True

    async def _send(self, calls: Sequence[Call]) -> list[Any]:
        self.round_trips += 1
        pipe = self.client.pipeline(transaction=False)
        for call in calls:
            pipe.evalsha(call.script.sha, 1, partition_key(self._crawl, call.partition), self._rules, call.arguments)
        replies: list[Any] = await pipe.execute(raise_on_error=False)
        return replies


def unavailable(error: Exception) -> FrontierUnavailable:
    """The sentence for a fault of Redis."""
    return FrontierUnavailable(f"Redis does not serve the frontier ({type(error).__name__}: {error}).")
