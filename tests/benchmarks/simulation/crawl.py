"""A crawl of a made-up web in virtual time, with a fixed number of connections, from its seeds to its last page.

It keeps the frontier's contract (`extensions.frontier.contract`: queues, estimates, ranks, lengths, turns) on structures that are
fast in one process; a test compares its leases with those of the frontier's oracle. Beyond that it does what servers and scheduler do:

- A lease takes one of the connections from its beginning until the response to its last URL.
- To open and close a connection takes twice its ConnectionTime, paid when it is opened. A connection that has carried what its server allows, or that
  has been idle for the server's patience, is opened anew for the next request.
- From the end of a response to the next request to a server its crawl delay goes by, within a lease and between two.
- A page's links are known when its response has ended; measurements when its lease has.
"""

from __future__ import annotations

import heapq
from bisect import insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from extensions.frontier import policies, score
from extensions.frontier.policies import Estimates

if TYPE_CHECKING:
    from tests.benchmarks.simulation.ranking import Ranking
    from tests.benchmarks.simulation.web import Server, Web

PATIENCE_SECONDS = 5.0
"""A server closes a connection that has been idle for so long: the usual keep-alive of web servers."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """One page brought home."""

    page: int
    sent: float
    ended: float


@dataclass(frozen=True, slots=True)
class Leased:
    """One lease as it was granted: when, of which server, for which pages."""

    began: float
    server: int
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened: every fetch in the order in which it ended, every lease in the order in which it began."""

    fetches: tuple[Fetch, ...]
    leases: tuple[Leased, ...]
    connections: int
    """Connections opened."""


@dataclass(slots=True)
class _Queue:
    """One server as the crawler knows it. `urls` are (−score, page), sorted: the next one first."""

    place: int
    server: Server
    delay_known: float
    urls: list[tuple[int, int]] = field(default_factory=list)
    sequence: int = 0
    order: int = 0
    due: float = 0.0
    state: str = "idle"
    rank: float = 0.0
    requests_per_connection: int | None = None
    connection_ms: float | None = None
    response_ms: float | None = None
    delay_ms: float | None = None


@dataclass(slots=True)
class _Lease:
    """What is left of a lease, last URL first, and what was measured so far."""

    queue: _Queue
    pages: list[int]
    carried: int = 0
    closed_after: int | None = None
    openings: list[float] = field(default_factory=list)
    responses: list[float] = field(default_factory=list)


class Crawl:
    """One crawl. `run` does it all."""

    def __init__(self, web: Web, ranking: Ranking, connections: int) -> None:
        self.web = web
        self.ranking = ranking
        self.free = connections
        self.queues = [_Queue(place, server, ranking.rules.delay_ms) for place, server in enumerate(web.servers)]
        self.typical_ms = [
            1000 * sum(web.response_seconds[page] for page in server.pages) / len(server.pages)
            for server in web.servers
        ]
        self.seen = bytearray(len(web.quality))
        self.orders = 0
        self.now = 0.0
        self.events: list[tuple[float, int, float, _Lease | _Queue]] = []
        self.ties = 0
        self.ready: list[tuple[float, int, int]] = []
        self.ready_count = 0
        self.changed: set[int] = set()
        self.fetches: list[Fetch] = []
        self.leases: list[Leased] = []
        self.opened = 0

    def run(self) -> Trace:
        """Crawl until nothing is left."""
        self._admit(self.web.seeds)
        self._lease()
        while self.events:
            self.now, _, sent, what = heapq.heappop(self.events)
            if isinstance(what, _Lease):
                self._fetched(what, sent)
            else:
                self._make_ready(what)
            while self.events and self.events[0][0] == self.now:
                _, _, sent, what = heapq.heappop(self.events)
                if isinstance(what, _Lease):
                    self._fetched(what, sent)
                else:
                    self._make_ready(what)
            self._lease()
        return Trace(tuple(self.fetches), tuple(self.leases), self.opened)

    # The frontier

    def _admit(self, pages: tuple[int, ...]) -> None:
        by_quality = self.ranking.rules.policy.orders_by_quality
        for page in pages:
            if self.seen[page]:
                continue
            self.seen[page] = 1
            queue = self.queues[self.web.server_of[page]]
            place = score.pack(by_quality, self.web.quality[page], queue.sequence, 0, 0)
            queue.sequence += 1
            insort(queue.urls, (-place, page))
            if queue.state == "ready":
                self.changed.add(queue.place)
            elif queue.state == "idle":
                self._place(queue)

    def _place(self, queue: _Queue) -> None:
        if not queue.urls:
            queue.state = "idle"
            return
        self.orders = max(self.orders + 1, int(self.now * 1000))
        queue.order = self.orders
        if queue.due <= self.now:
            self._make_ready(queue)
        else:
            queue.state = "waiting"
            self._at(queue.due, 0.0, queue)

    def _make_ready(self, queue: _Queue) -> None:
        queue.state = "ready"
        self.ready_count += 1
        self.changed.add(queue.place)

    def _lease(self) -> None:
        """Give every free connection to the best ready server."""
        for place in self.changed:
            queue = self.queues[place]
            if queue.state == "ready":
                queue.rank = self.ranking.rank(self._estimates(queue), queue.order, self._qualities(queue))
                heapq.heappush(self.ready, (-queue.rank, -place, queue.order))
        self.changed.clear()
        contested = self.ready_count > self.free
        while self.free and self.ready:
            rank, place, order = heapq.heappop(self.ready)
            queue = self.queues[-place]
            # Others have been ranked anew, or leased, since they were put there.
            if queue.state == "ready" and (rank, order) == (-queue.rank, queue.order):
                self._open(queue, contested)

    def _open(self, queue: _Queue, contested: bool) -> None:
        queue.state = "leased"
        self.ready_count -= 1
        self.free -= 1
        length = self.ranking.lease_length(self._estimates(queue), self._qualities(queue), contested=contested)
        taken = [page for _, page in queue.urls[:length]]
        del queue.urls[:length]
        self.leases.append(Leased(self.now, queue.place, tuple(taken)))
        self._request(_Lease(queue, taken[::-1]), self.now)

    def _release(self, lease: _Lease) -> None:
        """The settlement of a whole lease."""
        queue, alpha = lease.queue, self.ranking.rules.alpha
        for measured in lease.openings:
            queue.connection_ms = policies.ewma(queue.connection_ms, measured, alpha)
        for measured in lease.responses:
            queue.response_ms = policies.ewma(queue.response_ms, measured, alpha)
        if lease.closed_after is not None:
            queue.requests_per_connection = lease.closed_after
        queue.delay_ms = queue.server.delay_seconds * 1000
        queue.due = self.now + queue.server.delay_seconds
        self.free += 1
        self._place(queue)

    def _qualities(self, queue: _Queue) -> list[float]:
        """Of the URLs that a connection could carry, as the frontier reads them off its scores."""
        by_quality = self.ranking.rules.policy.orders_by_quality
        return [score.unpack(by_quality, -place).quality for place, _ in queue.urls]

    def _estimates(self, queue: _Queue) -> Estimates:
        rules, server = self.ranking.rules, queue.server
        if self.ranking.informed:
            return Estimates(
                server.requests_per_connection,
                server.connection_seconds * 1000,
                self.typical_ms[queue.place],
                server.delay_seconds * 1000,
            )
        return Estimates(
            queue.requests_per_connection or rules.requests_per_connection,
            rules.connection_ms if queue.connection_ms is None else queue.connection_ms,
            rules.response_ms if queue.response_ms is None else queue.response_ms,
            rules.delay_ms if queue.delay_ms is None else queue.delay_ms,
        )

    # Servers and connections

    def _at(self, instant: float, sent: float, what: _Lease | _Queue) -> None:
        self.ties += 1
        heapq.heappush(self.events, (instant, self.ties, sent, what))

    def _request(self, lease: _Lease, sent: float) -> None:
        """Send the next request at that instant, over a new connection if there is none."""
        server = lease.queue.server
        if not lease.carried:
            self.opened += 1
            lease.openings.append(server.connection_seconds * 1000)
            sent += 2 * server.connection_seconds
        self._at(sent + self.web.response_seconds[lease.pages[-1]], sent, lease)

    def _fetched(self, lease: _Lease, sent: float) -> None:
        page = lease.pages.pop()
        server = lease.queue.server
        self.fetches.append(Fetch(page, sent, self.now))
        lease.responses.append((self.now - sent) * 1000)
        lease.carried += 1
        if lease.carried == server.requests_per_connection:
            lease.closed_after, lease.carried = lease.carried, 0
        self._admit(self.web.links[page])
        if not lease.pages:
            self._release(lease)
            return
        if server.delay_seconds >= PATIENCE_SECONDS:
            lease.carried = 0
        self._request(lease, self.now + server.delay_seconds)
