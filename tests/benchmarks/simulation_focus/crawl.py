"""One crawl in virtual time: who is fetched when, and the order that comes of it."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.benchmarks.simulation_focus.servers import KEEP_ALIVE_MS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.benchmarks.simulation_focus.queues import Lease, Queues
    from tests.benchmarks.simulation_focus.servers import Servers


class Policy(ABC):
    """Decides what is fetched next. It owns its queues and hears of each fetched page."""

    queues: Queues
    keeps_connections = True
    """Whether a connection outlives a lease, so that the next one within a few seconds need not open it again."""

    @abstractmethod
    def start(self, seeds: Iterable[int]) -> None:
        """Queue the seeds."""

    @abstractmethod
    def fetched(self, page: int) -> None:
        """Take in a page that has come, with its links."""

    def lease(self, now_ms: float, count: int) -> list[Lease]:
        """The next servers to open, with the pages to fetch there."""
        return self.queues.lease(now_ms, count)


@dataclass(slots=True)
class Trace:
    """What a crawl did: the pages in the order in which they came, and when each had come."""

    pages: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Connection:
    server: int
    pages: list[int]
    started_ms: float
    measured_ms: list[float] = field(default_factory=list)


def crawl(
    policy: Policy,
    seeds: Iterable[int],
    server_of: list[int],
    servers: Servers,
    *,
    slots: int,
    pages: int = 1 << 30,
    seconds: float = float("inf"),
) -> Trace:
    """Run a policy with `slots` connections until so many pages have come, so much time is over, or nothing is left."""
    trace = Trace()
    policy.start(seeds)
    now = 0.0
    events: list[tuple[float, int, _Connection]] = []
    last_used: dict[int, float] = {}
    begun = 0

    def request(connection: _Connection, at: float) -> None:
        nonlocal begun
        took = servers.response_ms(connection.server, connection.pages[0])
        connection.measured_ms.append(took)
        heapq.heappush(events, (at + took, begun, connection))
        begun += 1

    while len(trace.pages) < pages:
        free = slots - len(events)
        for lease in policy.lease(now, free) if free else ():
            open_still = policy.keeps_connections and now - last_used.get(lease.server, -1e9) <= KEEP_ALIVE_MS
            opening = 0.0 if open_still else servers.timings[lease.server].connection_ms
            request(_Connection(lease.server, [page for _, page in lease.urls], now), now + opening)
        due = policy.queues.next_due_ms() if len(events) < slots else None
        if due is not None and (not events or due < events[0][0]):
            now = due
            continue
        if not events or events[0][0] > seconds * 1000:
            break
        now, _, connection = heapq.heappop(events)
        server = connection.server
        page = connection.pages.pop(0)
        assert server_of[page] == server
        trace.pages.append(page)
        trace.seconds.append(now / 1000)
        policy.fetched(page)
        timing = servers.timings[server]
        if connection.pages:
            request(connection, now + timing.delay_ms)
            continue
        last_used[server] = now
        _measure(policy.queues, server, timing.connection_ms, connection.measured_ms, timing.delay_ms)
        policy.queues.release(server, now + timing.delay_ms)
    return trace


def _measure(queues: Queues, server: int, connection_ms: float, measured: list[float], delay_ms: float) -> None:
    """What a settlement tells the frontier (the moving averages of `extensions.frontier.policies`)."""
    from extensions.frontier.policies import ewma

    queue = queues.queues[server]
    queue.connection_ms = ewma(queue.connection_ms, connection_ms, 0.8)
    for response_ms in measured:
        queue.response_ms = ewma(queue.response_ms, response_ms, 0.8)
    queue.delay_ms = delay_ms
