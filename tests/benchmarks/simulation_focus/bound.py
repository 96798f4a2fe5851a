"""What no crawl can exceed in time, whatever it knows: a bound on the area of recall over seconds.

Two things are granted to every crawl: as many connections as it wants, and that nothing but relevant pages is ever fetched from a server that has
some. What remains is what nobody gets round. A page cannot have come before the pages that lead to it (`earliest`); and a server answers one request at
a time, each crawl delay apart. So each server is a machine with jobs that are released one by one; to serve the job with the least work left first, even
to interrupt one for it, completes the most jobs by any instant (SRPT: Schrage, "A proof of the optimality of the shortest remaining processing time
discipline", 1968). Whatever a crawl does, it gains less.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.benchmarks.simulation_focus.servers import Servers
    from tests.benchmarks.simulation_focus.task import Task


class Arrivals(NamedTuple):
    """When each reachable page can have come, in milliseconds, if nothing but the way to it were fetched; and from which page that way comes."""

    at: dict[int, float]
    by: dict[int, int]
    """Without seeds."""


def earliest(task: Task, servers: Servers) -> Arrivals:
    """The quickest ways from a task's seeds, without any pause (Dijkstra)."""
    server_of = task.store.web.server
    at = {
        seed: servers.timings[server_of[seed]].connection_ms + servers.response_ms(server_of[seed], seed)
        for seed in task.seeds
    }
    by: dict[int, int] = {}
    takes: dict[int, float] = {}
    heap = [(instant, page) for page, instant in at.items()]
    heapq.heapify(heap)
    while heap:
        instant, page = heapq.heappop(heap)
        if instant > at[page]:
            continue
        for target in set(task.store.targets(page)):
            if target not in takes:
                takes[target] = servers.response_ms(server_of[target], target)
            if instant + takes[target] < at.get(target, math.inf):
                at[target] = instant + takes[target]
                by[target] = page
                heapq.heappush(heap, (at[target], target))
    return Arrivals(at, by)


def area_bound(task: Task, servers: Servers, seconds: float, arrivals: Arrivals) -> float:
    """The bound on `Figures.recall_area_in_time` of a crawl of `seconds`."""
    jobs: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for page in task.labels:
        server = task.store.web.server[page]
        takes = servers.response_ms(server, page)
        # The delay after a page is part of its job, and the page has come before it: jobs end that much later than pages come.
        jobs[server].append((arrivals.at[page] - takes, takes + servers.timings[server].delay_ms))
    gained = 0.0
    for server, released in jobs.items():
        late = servers.timings[server].delay_ms
        gained += math.fsum(max(0.0, seconds - (end - late) / 1000) for end in completions(released))
    return gained / (seconds * len(task.labels)) if task.labels else 0.0


def completions(jobs: Iterable[tuple[float, float]]) -> list[float]:
    """When one machine completes jobs, (released, work) each, if it always serves the one with the least work left."""
    waiting = sorted(jobs, reverse=True)
    begun: list[float] = []
    """Work left of the jobs released so far, a heap."""
    now, ends = 0.0, []
    while waiting or begun:
        if not begun:
            now = max(now, waiting[-1][0])
        while waiting and waiting[-1][0] <= now:
            heapq.heappush(begun, waiting.pop()[1])
        left = heapq.heappop(begun)
        next_release = waiting[-1][0] if waiting else math.inf
        if now + left <= next_release:
            now += left
            ends.append(now)
        else:
            heapq.heappush(begun, left - (next_release - now))
            now = next_release
    return ends
