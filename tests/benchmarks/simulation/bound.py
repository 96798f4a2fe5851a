"""What a clairvoyant could bring home by an instant, at most: a bound that no schedule of `crawl` can pass, whatever it knows.

Of any schedule, let x be 1 for the pages whose responses have ended by instant t. With m connections, page j on server s, its response time r, the server's
connection time c, limit L and crawl delay d, three things hold:

1. *Connections.* n pages of a server need at least n/L connections, each paid with 2c when it is opened. All of that, and the responses, has
   taken place on m connections: ``Σ (r_j + 2c/L)·x_j ≤ m·t``.
2. *One at a time.* On each server the first request is sent no sooner than 2c; between n responses lie n−1 pauses of at least d, and at least n/L − 1
   of them contain 2c for another connection. With ``g = max(d, 2c/L)`` the pauses take at least ``n·g − max(d, 2c)`` together, so
   ``Σ (r_j + g)·x_j ≤ t + max(d − 2c, 0)``.
3. *Found first.* A page is fetched after one that links to it. With connections without number it ends no sooner than `earliest`: the shortest path from
   the seeds whose steps are response times, plus d where a step stays on its server, and never before 2c + r_j.

So the quality fetched by t is at most the maximum of ``Σ q_j·x_j`` under these, with x between 0 and 1: a linear program. Its Lagrangian dual in the first constraint
alone, at a price λ per second of a connection, falls apart into one fractional knapsack per server, which is solved exactly by taking pages by gain per
second, ``(q_j − λ·w_j) / u_j``. By weak duality *every* λ ≥ 0 gives an upper bound, so the search for the best λ may stop anywhere without
spoiling it. The same with every quality 1 bounds the pages.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.benchmarks.simulation.web import Server, Web

SEARCH_STEPS = 24
ROUNDING = 1 + 1e-9
"""Sums of doubles in another order than the crawl's: the bound is so much more generous."""


def earliest(web: Web) -> list[float]:
    """The instant before which no schedule has a page, however many connections it has."""
    found = [float("inf")] * len(web.quality)
    heap = []
    for page in web.seeds:
        found[page] = _alone(web, page)
        heap.append((found[page], page))
    heapq.heapify(heap)
    while heap:
        instant, page = heapq.heappop(heap)
        if instant > found[page]:
            continue
        place = web.server_of[page]
        delay = web.servers[place].delay_seconds
        for target in web.links[page]:
            pause = delay if web.server_of[target] == place else 0.0
            then = max(instant + pause + web.response_seconds[target], _alone(web, target))
            if then < found[target]:
                found[target] = then
                heapq.heappush(heap, (then, target))
    return found


def _alone(web: Web, page: int) -> float:
    return 2 * web.servers[web.server_of[page]].connection_seconds + web.response_seconds[page]


def bounds(web: Web, worth: Sequence[float], connections: int, instants: Sequence[float]) -> list[float]:
    """The most that can be fetched by each instant, as the sum of the pages' `worth`."""
    soonest = earliest(web)
    found = []
    for instant in instants:
        servers = [one for server in web.servers if (one := _Knapsack.of(web, server, worth, soonest, instant)).pages]
        found.append(_least(servers, connections * instant) * ROUNDING)
    return found


class _Knapsack:
    """One server's pages that can be fetched by the instant, by worth per second of a connection, the greatest first."""

    def __init__(self, pages: list[tuple[float, float, float]], room: float) -> None:
        self.pages = sorted(pages, key=lambda page: -page[0] / page[1])
        self.room = room
        self.falling = [-worth / work for worth, work, _ in self.pages]
        self.worths = [0.0, *accumulate(worth for worth, _, _ in self.pages)]
        self.works = [0.0, *accumulate(work for _, work, _ in self.pages)]
        self.uses = [0.0, *accumulate(use for _, _, use in self.pages)]

    @classmethod
    def of(
        cls, web: Web, server: Server, worth: Sequence[float], soonest: Sequence[float], instant: float
    ) -> _Knapsack:
        opening = 2 * server.connection_seconds
        share = opening / server.requests_per_connection
        pause = max(server.delay_seconds, share)
        times = web.response_seconds
        pages = [(worth[p], times[p] + share, times[p] + pause) for p in server.pages if soonest[p] <= instant]
        return cls(pages, instant + max(server.delay_seconds - opening, 0.0))

    def best(self, price: float) -> tuple[float, float]:
        """The most gain, and the connection-seconds that it takes."""
        count = bisect_right(self.falling, -price)
        if self.uses[count] <= self.room:
            return self.worths[count] - price * self.works[count], self.works[count]
        left, gained, worked = self.room, 0.0, 0.0
        for worth, work, use in sorted(self.pages[:count], key=lambda page: (price * page[1] - page[0]) / page[2]):
            part = min(1.0, left / use)
            gained += part * (worth - price * work)
            worked += part * work
            left -= part * use
            if left <= 0:
                break
        return gained, worked


def _least(servers: list[_Knapsack], budget: float) -> float:
    """The dual's least value that bisection finds: where more is worked than there is, seconds are too cheap."""
    low, high = 0.0, max((-one.falling[0] for one in servers), default=0.0)
    least = float("inf")
    price = 0.0
    for _ in range(SEARCH_STEPS):
        outcomes = [one.best(price) for one in servers]
        least = min(least, price * budget + sum(gain for gain, _ in outcomes))
        if sum(worked for _, worked in outcomes) > budget:
            low = price
        elif price == 0.0:
            break
        else:
            high = price
        price = (low * high) ** 0.5 if low > 0 else high / 1024
    return least
