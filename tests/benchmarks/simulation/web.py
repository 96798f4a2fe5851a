"""A web of many servers, made from a seed: pages, links, qualities, and the true latencies that a crawler has to find out.

The shape follows what has been published. Of the servers of Cao, Jiang, Singh (Princeton TR-682-03, 2003), 24 % took one request
a connection and 66 % took 100; of the pages of Broder, Najork, Wiener (WWW 2003) the median has 23 links, the mean 62, and 30 % of
a page's links repeat within it. Sizes of servers and numbers of links are log-normal, response times Pareto over the servers (a few are
a hundred times slower than most) and log-normal over the pages of a server. Every page can be reached from the seeds.

Units: seconds. A page's response time belongs to the page, whenever it is fetched, so that all schedules meet the same web.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

Quality = Literal["zipf", "pagerank"]

SLOWEST_SECONDS = 10.0
"""No response takes longer: a crawler would give up on it."""
DAMPING = 0.85
LINKS_MEDIAN, LINKS_MEAN, REPEATED = 23, 62.55, 0.3
MOST_LINKS = 1000
INSIDE = 0.75
"""Share of a page's links that stay on its server."""
POPULAR = 11
"""The page of relative place u¹¹, u uniform, is linked to: in-degrees then fall off as a power law of exponent 2.1, as Broder et al. (2000) found on the web."""
DEMANDING = 0.2
"""Share of the servers that ask for a longer crawl delay than the crawler would keep by itself, where there is one."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server as it truly is."""

    name: str
    pages: range
    """Its pages' numbers; the first is its home page."""
    requests_per_connection: int
    connection_seconds: float
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Web:
    """Servers, and for each page (a number) its server's place, true quality, response time and links."""

    servers: tuple[Server, ...]
    server_of: tuple[int, ...]
    quality: tuple[float, ...]
    response_seconds: tuple[float, ...]
    links: tuple[tuple[int, ...], ...]
    seeds: tuple[int, ...]

    def all_known(self) -> Web:
        """The same web where every page is a seed, so that nothing has to be found."""
        return replace(self, seeds=tuple(range(len(self.quality))))


def make_web(
    seed: int, quality: Quality, *, servers: int = 500, pages: int = 30_000, delay_seconds: float = 0.0
) -> Web:
    """The web of a seed. The two qualities and all delays share its servers, links and latencies."""
    shape, timing, delays, worth = (random.Random(f"{seed} {part}") for part in ("shape", "timing", "delays", "worth"))
    sizes = _sizes(shape, servers, pages)
    ends = list(accumulate(sizes))
    ranges = [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    server_of = tuple(place for place, size in enumerate(sizes) for _ in range(size))
    links, seeds = _links(shape, ranges, server_of)
    made = tuple(_server(place, pages, timing, delays, delay_seconds) for place, pages in enumerate(ranges))
    return Web(
        servers=made,
        server_of=server_of,
        quality=_zipf(worth, pages) if quality == "zipf" else _pagerank(links),
        response_seconds=_responses(timing, ranges),
        links=links,
        seeds=seeds,
    )


def _sizes(rng: random.Random, servers: int, pages: int) -> list[int]:
    """Pages of each server: log-normal, at least one, `pages` together."""
    weights = [rng.lognormvariate(0.0, 1.2) for _ in range(servers)]
    scale = (pages - servers) / sum(weights)
    sizes = [1 + int(weight * scale) for weight in weights]
    for place in range(pages - sum(sizes)):
        sizes[place % servers] += 1
    return sizes


def _links(
    rng: random.Random, ranges: list[range], server_of: tuple[int, ...]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Each page's links, and the seeds: home pages of a fiftieth of the servers.

    A page is linked from an earlier page of its server, a home page from an earlier server or it is a seed; the other links go to
    pages of their own server, or of one chosen by size, the early pages being the popular ones.
    """
    total = len(server_of)
    seeds = max(1, len(ranges) // 50)
    found: list[set[int]] = [set() for _ in range(total)]
    for place, pages in enumerate(ranges):
        if place >= seeds:
            found[rng.randrange(pages[0])].add(pages[0])
        for number in pages[1:]:
            found[rng.randrange(pages[0], number)].add(number)
    spread = math.sqrt(2 * math.log(LINKS_MEAN / LINKS_MEDIAN))
    for number, targets in enumerate(found):
        wanted = min(rng.lognormvariate(math.log(LINKS_MEDIAN * (1 - REPEATED)), spread), MOST_LINKS)
        for _ in range(int(wanted)):
            home = server_of[number] if rng.random() < INSIDE else server_of[int(rng.random() * total)]
            pages = ranges[home]
            targets.add(pages[int(len(pages) * rng.random() ** POPULAR)])
        targets.discard(number)
    return tuple(tuple(sorted(targets)) for targets in found), tuple(pages[0] for pages in ranges[:seeds])


def _server(place: int, pages: range, timing: random.Random, delays: random.Random, delay_seconds: float) -> Server:
    kind = timing.random()
    allowed = 1 if kind < 0.24 else 100 if kind < 0.9 else timing.choice((2, 5, 10, 20, 50))
    connection = min(timing.lognormvariate(math.log(0.08), 0.8), SLOWEST_SECONDS)
    longer = delays.uniform(2, 10) if delays.random() < DEMANDING else 1.0
    return Server(f"server{place:03}", pages, allowed, connection, delay_seconds * longer)


def _responses(rng: random.Random, ranges: list[range]) -> tuple[float, ...]:
    found = []
    for pages in ranges:
        typical = 0.1 * rng.paretovariate(1.5)
        found += [min(typical * rng.lognormvariate(-0.125, 0.5), SLOWEST_SECONDS) for _ in pages]
    return tuple(found)


def _zipf(rng: random.Random, pages: int) -> tuple[float, ...]:
    """1, 1/2, 1/3, … dealt to the pages at random."""
    values = [1 / place for place in range(1, pages + 1)]
    rng.shuffle(values)
    return tuple(values)


def _pagerank(links: tuple[tuple[int, ...], ...]) -> tuple[float, ...]:
    """R(u) = (1−d)/T + d·Σ R(v)/C_v, by iteration from equal ranks, as shares of the greatest. Pages without links link to all."""
    total = len(links)
    ranks = [1 / total] * total
    change = 1.0
    while change > 1e-3:
        dangling = sum(ranks[page] for page, targets in enumerate(links) if not targets)
        following = [(1 - DAMPING + DAMPING * dangling) / total] * total
        for page, targets in enumerate(links):
            if targets:
                share = DAMPING * ranks[page] / len(targets)
                for target in targets:
                    following[target] += share
        change = sum(abs(new - old) for new, old in zip(following, ranks, strict=True))
        ranks = following
    greatest = max(ranks)
    return tuple(rank / greatest for rank in ranks)
