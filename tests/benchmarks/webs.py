"""Webs made for measurements: every page on topic and reachable from the seed, each server as slow as it was asked to be.

`tangle` is for chaos: a page is found through one parent only, so whoever loses a page loses all that lies behind it, and the result
shows it. Links beside that lead to a few popular pages which everybody links to, by the hundred on some pages. `ladder` is for
throughput: a hub names all hosts, and a host's pages come to light a few at a time, so that servers change places all the while.

Everything is decided by `seed`. A folder holds one web.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.localweb.web import write_site

if TYPE_CHECKING:
    from pathlib import Path

TOPIC = "honey"
TEXT = "Bees are kept for their honey, and honey is what they are kept for. " * 3
SETTINGS: dict[str, Any] = {"TOPIC_MODEL": "boolean", "TOPIC_TUNNEL": 15}
"""With which all pages count as relevant, and so must all be in the results."""
GOLDEN = 0.6180339887498949
"""Multiples of it, without their whole part, are spread evenly, and so is any run of them."""
RICH_LINKS = 150


@dataclass(frozen=True)
class Web:
    """A web on disk, and what a crawl of it has to keep to."""

    folder: Path
    seed_url: str
    pages: frozenset[str]
    """The URL of every page."""
    behaviour: dict[str, Any]
    """For `LocalWeb`."""
    crawl_delays_ms: dict[str, float] = field(default_factory=dict)
    """Host → Crawl-delay of its robots.txt, where it has one."""


def tangle(folder: Path, *, pages: int, hosts: int, seed: int) -> Web:
    """Pages in a random tree over the hosts, one in thirty rich in links; latencies of 5 to 40 ms, and 150 ms on one host in ten.

    Every fifth host's robots.txt asks for 80 ms between requests, every second one has no robots.txt.
    """
    rng = random.Random(seed)
    host_of = [f"h{rng.randrange(hosts)}.test" for _ in range(pages)]
    urls = [f"http://{host}/{number}" for number, host in enumerate(host_of)]
    links: list[list[int]] = [[] for _ in range(pages)]
    for number in range(1, pages):
        # The parent lies in the middle of what was there: some hundred pages are open at once, and paths stay short.
        links[rng.randrange(number // 4, number // 2 + 1) if number > 3 else 0].append(number)
    popular = range(min(pages, 100))
    for number in range(pages):
        links[number] += rng.choices(popular, k=RICH_LINKS if rng.random() < 1 / 30 else 2)
    for number, host in enumerate(host_of):
        write_site(folder, host, {f"/{number}": _page(number, [urls[target] for target in links[number]])})
    behaviours: dict[str, dict[str, Any]] = {}
    delays = {}
    for number in range(hosts):
        host = f"h{number}.test"
        behaviours[host] = {"latency_ms": 150 if number % 10 == 7 else rng.uniform(5, 40)}
        if number % 5 == 0:
            delays[host] = 80.0
            behaviours[host]["robots"] = "User-agent: *\nCrawl-delay: 0.08\n"
        elif number % 2:
            behaviours[host]["robots"] = "User-agent: *\nDisallow: /secret\n"
    return Web(folder, urls[0], frozenset(urls), {"hosts": behaviours}, delays)


def ladder(folder: Path, *, hosts: int, pages_per_host: int, step: int = 4) -> Web:
    """A hub, and hosts of as many pages each that answer after 100 to 500 ms; every `step` pages a page names the next `step`.

    So a lease is for `step` URLs at most, and whatever run of hosts a crawl opens is an even mix of fast and slow ones.
    """
    names = [f"s{number}.test" for number in range(hosts)]
    hub = "http://hub.test/"
    write_site(folder, "hub.test", {"/": _page(0, [f"http://{name}/0" for name in names])})
    urls = {hub}
    for name in names:
        site = {}
        for number in range(pages_per_host):
            last = range(number + 1, min(number + step, pages_per_host - 1) + 1) if number % step == 0 else ()
            site[f"/{number}"] = _page(number, [f"http://{name}/{target}" for target in last])
        write_site(folder, name, site)
        urls |= {f"http://{name}{path}" for path in site}
    behaviours = {name: {"latency_ms": 100 + 400 * (number * GOLDEN % 1)} for number, name in enumerate(names)}
    return Web(folder, hub, frozenset(urls), {"hosts": behaviours})


def _page(number: int, links: list[str]) -> str:
    anchors = "\n".join(f'<p><a href="{url}">honey</a></p>' for url in links)
    return f'<html lang="en"><head><title>Honey {number}</title></head><body><p>{TEXT}</p>\n{anchors}</body></html>'
