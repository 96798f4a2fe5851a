"""Many script calls in one round trip, each on one partition, on one Redis or on a Cluster of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis.exceptions import MovedError, NoScriptError

from extensions.errors import CrawlError
from extensions.frontier.faults import REDIS_FAULTS, fault_of
from extensions.frontier.keys import partition_key
from extensions.frontier.routes import Routes
from extensions.frontier.scripts import Script, script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis.asyncio import Redis

    from extensions.frontier.routes import Command, Route

VERBS = ("admit", "lease", "settle", "renew", "reclaim", "peek")


@dataclass(frozen=True, slots=True)
class Call:
    """One script on one partition."""

    script: Script
    partition: int
    arguments: bytes


class Pipeline:
    """Sends calls of one crawl; those on one partition run in their order. Knows which nodes have the scripts."""

    def __init__(self, client: Redis, crawl: str, rules: bytes) -> None:
        self.client = client
        self.round_trips = 0
        self._crawl = crawl
        self._rules = rules
        self._routes = Routes(client)
        self._have_scripts: set[str] = set()

    async def run(self, calls: Sequence[Call]) -> list[Any]:
        """The replies in order; in the place of one that there is not, a `FrontierUnavailable` or `FrontierBroken`.

        A call is sent again only if a node said that it did not run it: it did not know the script, or the slot is no longer there.
        """
        replies = await self._send(calls)
        refused = [place for place, reply in enumerate(replies) if isinstance(reply, (NoScriptError, MovedError))]
        if refused:
            again = await self._send([calls[place] for place in refused])
            for place, reply in zip(refused, again, strict=True):
                replies[place] = reply
        return [fault_of(reply) if isinstance(reply, Exception) else reply for reply in replies]

    async def run_all(self, calls: Sequence[Call]) -> list[Any]:
        """The same, all or nothing. Raises the first error."""
        replies = await self.run(calls)
        for reply in replies:
            if isinstance(reply, CrawlError):
                raise reply
        return replies

    async def read(self, keyed: Sequence[tuple[str, Command]]) -> list[Any]:
        """The replies to commands that may be repeated, each with its key. Raises the first error."""
        self.round_trips += 1
        try:
            return await self._routes.ask(keyed)
        except REDIS_FAULTS as error:
            raise fault_of(error) from error

    async def _send(self, calls: Sequence[Call]) -> list[Any]:
        if not calls:
            return []
        self.round_trips += 1
        replies: list[Any] = [None] * len(calls)
        try:
            routes = await self._routes.plan([partition_key(self._crawl, call.partition) for call in calls])
        except REDIS_FAULTS as error:
            return [error] * len(calls)
        new = [route.node not in self._have_scripts for route in routes]
        answers = await self._routes.send(
            [
                (route, (_scripts() if is_new else []) + [self._command(calls[place]) for place in route.places])
                for route, is_new in zip(routes, new, strict=True)
            ]
        )
        for route, is_new, answer in zip(routes, new, answers, strict=True):
            self._note(route, answer)
            for place, reply in zip(route.places, answer[len(VERBS) if is_new else 0 :], strict=True):
                replies[place] = reply
        return replies

    def _command(self, call: Call) -> Command:
        key = partition_key(self._crawl, call.partition)
        return ("EVALSHA", call.script.sha, 1, key, self._rules, call.arguments)

    def _note(self, route: Route, answer: Sequence[Any]) -> None:
        if any(isinstance(reply, (NoScriptError, *REDIS_FAULTS)) for reply in answer):
            self._have_scripts.discard(route.node)  # after an error it may be another server at the same address
        else:
            self._have_scripts.add(route.node)


def _scripts() -> list[Command]:
    """All of them before the first use: if a node knew only some, calls on a partition would run out of their order."""
    return [("SCRIPT LOAD", script(verb).source) for verb in VERBS]
