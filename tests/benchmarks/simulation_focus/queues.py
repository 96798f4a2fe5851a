"""A queue for each server and a rank for each queue: the frontier's two levels in memory, quick enough for thousands of crawls.

For ranking by capability this does what `extensions.frontier.contract` says of one partition, and a test holds it to that; other
rankings serve the baselines. What is smaller comes first, in queues and among servers.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from extensions.frontier import exploring, policies, score
from extensions.frontier.records import QUALITY_STEPS, Rules

if TYPE_CHECKING:
    from collections.abc import Callable

_QUALITY_SHIFT = score.SEQUENCE_BITS + score.DEPTH_BITS + score.HOPS_BITS


@dataclass(slots=True)
class Queue:
    """One server. `order` holds (key, page), the next one first; `keys` the key of each page."""

    server: int
    order: list[tuple[Any, int]] = field(default_factory=list)
    keys: dict[int, Any] = field(default_factory=dict)
    sequence: int = 0
    due_ms: float = 0.0
    leased: bool = False
    version: int = 0
    connection_ms: float | None = None
    response_ms: float | None = None
    delay_ms: float = 0.0


class Lease(NamedTuple):
    """A server and the pages to fetch there, with their keys."""

    server: int
    urls: list[tuple[Any, int]]


class Ranking(ABC):
    """How servers compare, and for how many pages one is opened."""

    @abstractmethod
    def rank(self, queue: Queue) -> tuple[Any, int]:
        """What is smaller comes first; and the length of a lease."""

    def places(self, queue: Queue, token: int, *, contested: bool) -> list[int]:
        """Which URLs of its queue the lease of a server under this token takes; `contested`: more servers are ready than are leased now."""
        return list(range(min(self.rank(queue)[1], len(queue.order))))


class BestPage(Ranking):
    """One global queue, as crawlers have that know no servers: the server of the best page, for that page."""

    def rank(self, queue: Queue) -> tuple[Any, int]:
        """The key of the first page."""
        return queue.order[0][0], 1


class Capability(Ranking):
    """The product's: quality per second, by its own formulas. Keys are negated scores of `extensions.frontier.score`.

    `odds` has one number for each server that was told one: by it the odds of all qualities queued there are multiplied before they are summed. It never changes
    the order within a server. `segments` tells of a page what `exploring.segments` tells of its member; `Rules.explore` needs it. Each of the `partitions`
    explores for itself.
    """

    def __init__(self, rules: Rules, segments: Callable[[int], int] | None = None, partitions: int = 1) -> None:
        if rules.explore and segments is None:
            raise ValueError("Who explores must know the pages' segments.")
        self.rules = rules
        self.segments = segments
        self.partitions = partitions
        self.odds: dict[int, float] = {}
        self._vain: Counter[int] = Counter()
        """Leases of each partition that have explored since it got a new server."""

    def entered(self, server: int) -> None:
        """A server is new: its partition goes on exploring."""
        self._vain[server % self.partitions] = 0

    def rank(self, queue: Queue) -> tuple[Any, int]:
        """The negated capability."""
        estimates, head = self._known(queue)
        return -policies.rank(self.rules, estimates, 0, head), policies.lease_length(self.rules, estimates, head)

    def places(self, queue: Queue, token: int, *, contested: bool) -> list[int]:
        """The first ones, or those of an exploring lease."""
        odds = self.odds.get(queue.server, 1.0)
        partition = queue.server % self.partitions
        vain = self._vain[partition]
        if self.segments is None or not exploring.explores(self.rules, odds, token, vain=vain, contested=contested):
            return super().places(queue, token, contested=contested)
        self._vain[partition] += 1
        length = policies.lease_length(self.rules, *self._known(queue), contested=False)
        promises = [
            exploring.promise(_quality(key), self.segments(page))
            for key, page in queue.order[: exploring.EXPLORED_URLS]
        ]
        return exploring.explored(promises, length)

    def _known(self, queue: Queue) -> tuple[policies.Estimates, list[float]]:
        """Of a server, and what its first URLs are worth by its odds."""
        rules = self.rules
        estimates = policies.Estimates(
            rules.requests_per_connection,
            rules.connection_ms if queue.connection_ms is None else queue.connection_ms,
            rules.response_ms if queue.response_ms is None else queue.response_ms,
            queue.delay_ms,
        )
        head = [_quality(key) for key, _ in queue.order[: rules.requests_per_connection]]
        odds = self.odds.get(queue.server, 1.0)
        if odds != 1.0:
            head = [policies.adjusted(quality, odds) for quality in head]
        return estimates, head


def _quality(key: int) -> float:
    """Of a page that is queued under this key."""
    return (-key >> _QUALITY_SHIFT) / QUALITY_STEPS


class Queues:
    """All servers' queues. A server is leased to one connection at a time, and not before it is due."""

    def __init__(self, ranking: Ranking, servers: int) -> None:
        self.ranking = ranking
        self.queues = [Queue(server) for server in range(servers)]
        self._changed: set[int] = set()
        self._tokens = 0
        self._ready: list[tuple[Any, int, int]] = []
        self._waiting: list[tuple[float, int]] = []

    def put(self, server: int, page: int, key: Any) -> None:
        """Queue a page, or give a queued one another key."""
        queue = self.queues[server]
        old = queue.keys.get(page)
        if old is not None:
            del queue.order[bisect_left(queue.order, (old, page))]
        queue.keys[page] = key
        insort(queue.order, (key, page))
        self._changed.add(server)

    def lease(self, now_ms: float, count: int) -> list[Lease]:
        """The best servers that are due, each with its best pages; at most `count`."""
        self._promote(now_ms)
        best: list[Queue] = []
        while self._ready and len(best) < count:
            _, negated, version = heapq.heappop(self._ready)
            queue = self.queues[-negated]
            if version == queue.version:
                best.append(queue)
        contested = self._any_ready()
        return [self._open(queue, contested=contested) for queue in best]

    def _any_ready(self) -> bool:
        while self._ready and self._ready[0][2] != self.queues[-self._ready[0][1]].version:
            heapq.heappop(self._ready)
        return bool(self._ready)

    def rank_anew(self, server: int) -> None:
        """What the ranking knows of a server has changed."""
        self._changed.add(server)

    def _promote(self, now_ms: float) -> None:
        while self._waiting and self._waiting[0][0] <= now_ms:
            self._changed.add(heapq.heappop(self._waiting)[1])
        for server in self._changed:
            self._place(self.queues[server], now_ms)
        self._changed.clear()

    def release(self, server: int, due_ms: float) -> None:
        """End a lease; the server is not opened again before it is due."""
        queue = self.queues[server]
        queue.leased = False
        queue.due_ms = due_ms
        self._changed.add(server)

    def next_due_ms(self) -> float | None:
        """When the next server that has pages and only waits becomes due."""
        return self._waiting[0][0] if self._waiting else None

    def _place(self, queue: Queue, now_ms: float) -> None:
        queue.version += 1
        if queue.leased or not queue.order:
            return
        if queue.due_ms > now_ms:
            heapq.heappush(self._waiting, (queue.due_ms, queue.server))
        else:
            # Of equal ranks the greatest name first, as the contract has it; servers are numbered by name.
            heapq.heappush(self._ready, (self.ranking.rank(queue)[0], -queue.server, queue.version))

    def _open(self, queue: Queue, *, contested: bool) -> Lease:
        self._tokens += 1
        places = self.ranking.places(queue, self._tokens, contested=contested)
        urls = [queue.order[place] for place in places]
        for place in sorted(places, reverse=True):
            del queue.order[place]
        for _, page in urls:
            del queue.keys[page]
        queue.leased = True
        queue.version += 1
        return Lease(queue.server, urls)
