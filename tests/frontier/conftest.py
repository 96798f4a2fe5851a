"""Both implementations of the contract behind one synchronous interface."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from redis.asyncio import Redis

from extensions.frontier.contract import Partition
from extensions.frontier.oracle import DictFrontier
from extensions.frontier.records import Rules
from extensions.frontier.redis import RedisFrontier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from extensions.frontier.records import Admission, Candidate, Lease, Peek, Settlement, Stats
    from tests.conftest import RedisServer

Answer = TypeVar("Answer")
PartitionFactory = Callable[[Rules], Partition]


class SynchronousFrontier:
    """A `RedisFrontier` whose verbs are called like the oracle's."""

    def __init__(self, loop: asyncio.AbstractEventLoop, frontier: RedisFrontier) -> None:
        self.loop = loop
        self.frontier = frontier

    def _run(self, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
        return self.loop.run_until_complete(coroutine)

    def admit(self, now_ms: int, candidates: Sequence[Candidate]) -> Admission:
        return self._run(self.frontier.admit(now_ms, candidates))

    def lease(
        self, now_ms: int, agent: str, count: int, lease_ms: int, overdue_ms: int = 0
    ) -> tuple[list[Lease], int | None]:
        return self._run(self.frontier.lease(now_ms, agent, count, lease_ms, overdue_ms))

    def settle(self, now_ms: int, settlement: Settlement) -> bool:
        (accepted,) = self._run(self.frontier.settle(now_ms, [settlement]))
        return accepted

    def renew(self, now_ms: int, leases: Iterable[tuple[str, int]], lease_ms: int) -> set[str]:
        return self._run(self.frontier.renew(now_ms, leases, lease_ms))

    def reclaim(self, now_ms: int, agent: str | None = None, held: Iterable[tuple[str, int]] = ()) -> int:
        return self._run(self.frontier.reclaim(now_ms, agent, held))

    def stats(self) -> Stats:
        return self._run(self.frontier.stats())

    def peek(self, count: int, head: int = 3) -> list[Peek]:
        return self._run(self.frontier.peek(count, head))

    def clear(self) -> None:
        self._run(self.frontier.clear())


@pytest.fixture(scope="session")
def redis_partition(redis_server: RedisServer) -> Iterator[Callable[..., SynchronousFrontier]]:
    """Makes a frontier on Redis, each time with another crawl name."""
    names = itertools.count()
    with asyncio.Runner() as runner:
        client = Redis.from_url(redis_server.url)

        def factory(rules: Rules, partitions: int = 1) -> SynchronousFrontier:
            frontier = RedisFrontier(client, f"crawl{next(names)}", rules, partitions)
            return SynchronousFrontier(runner.get_loop(), frontier)

        yield factory
        runner.run(client.aclose())


@pytest.fixture(params=["dicts", "redis"])
def partition(request: pytest.FixtureRequest) -> PartitionFactory:
    """Makes an empty partition from `Rules`: once the oracle in dicts, once the scripts on Redis."""
    if request.param == "dicts":
        return DictFrontier
    factory: PartitionFactory = request.getfixturevalue("redis_partition")
    return factory
