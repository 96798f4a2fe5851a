"""The verbs of the frontier against scrapy-redis, the bytes of a queued URL, and what a hundred times more URLs cost.

    python -m tests.benchmarks.frontier [--quick | --full] [--urls N] [--rounds N] [--json FILE]

All is measured on one embedded Redis (append-only file on, not rewritten meanwhile), the rivals in turn in each round; figures are medians, ratios are ratios of
medians. `rivals` tells what is counted on either side: the whole way from a raw link to Redis, and from Redis to a Request. Where ``verb`` is in a name, only the
call of the frontier counts. ``ratio_…_cpu`` compares processor time, of this process and of Redis together, instead of elapsed time.

*Batches* are those of crawls: 1 to 20 pages of about 50 links, of which 60 % were found before (``_known``), or none.

*Lease and settle* are those of 64 servers. scrapy-redis knows no crawl delay, so it is compared with a crawl of CRAWL_DELAY 0. With the default delay (``_polite``) a lease often carries one
URL alone, as other servers wait for the connection: then a URL costs what a lease costs, and no more than 64 of them can be used in a second.

*Bytes* are differences of Redis's used_memory without its buffers. ``bytes_per_queued_url`` is a URL of 80 characters, its share of its server, and the URL of the page it was found
on, which a crawl keeps for each; the seen-set counts apart.

*Scaling*: the verbs on two crawls in one Redis, of 100 k URLs on 1 k servers and of ``--urls`` on a hundredth of as many servers; 10 M with ``--full``, which takes some 4 GB of
memory, 10 GB of disk and half an hour. ``cost_ratio_10m_vs_100k`` has the name of the full size; ``sizes`` tells which was used.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.links import LENGTH, Page, Pages
from tests.benchmarks.privateredis import PrivateRedis, private_redis
from tests.benchmarks.rivals import Ours, ScrapyRedis
from tests.benchmarks.rounds import Cost, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.benchmarks.rounds import Job

URLS_PER_SERVER = 100
KNOWN = 0.6
FULL = 10_000_000


@dataclass(frozen=True)
class Sizes:
    """How much of each is measured."""

    queued: int
    """URLs in our queues before the verbs are compared."""
    theirs_queued: int
    """The same for scrapy-redis, whose cost a URL hardly depends on it."""
    small: int
    large: int
    """URLs of the two crawls of the scaling."""
    rounds: int


QUICK = Sizes(queued=2_000, theirs_queued=300, small=1_000, large=3_000, rounds=2)
USUAL = Sizes(queued=100_000, theirs_queued=10_000, small=100_000, large=1_000_000, rounds=15)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    options = _options(arguments)
    sizes = _sizes(options)
    console = Console(stderr=True)
    figures: dict[str, Any] = {"sizes": {name: getattr(sizes, name) for name in Sizes.__dataclass_fields__}}
    with private_redis() as redis:
        for words, part in (
            ("verbs", verbs),
            ("bytes a URL", bytes_per_url),
            (f"scaling from {sizes.small:,} to {sizes.large:,} URLs", scaling),
        ):
            with console.status(words):
                figures |= part(redis, sizes)
    Console().print(table(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def verbs(redis: PrivateRedis, sizes: Sizes) -> dict[str, Any]:
    """Admit, lease and settle, and the duplicate test, against scrapy-redis."""
    servers = sizes.queued // URLS_PER_SERVER
    fresh = Pages(servers, seed=1)
    mixed = Pages(servers, known=KNOWN, seed=2, name="kite")
    with (
        closing(Ours(redis.url)) as ours,
        closing(Ours(redis.url, crawl_delay=0)) as eager,
        closing(ScrapyRedis(redis.url)) as theirs,
    ):
        ours.fill(fresh, sizes.queued)
        eager.fill(fresh, sizes.queued)
        old = fresh.take(20)
        ours.admit_pages(old)
        theirs.enqueue_pages(old)
        while len(theirs) < sizes.theirs_queued + 200 * sizes.rounds:
            theirs.enqueue_pages(fresh.batch())
        ours.fill(mixed, sizes.queued // 5)
        cost = measure(
            {
                "admit": lambda: partial(ours.admit_batches, batches(fresh)),
                "enqueue": lambda: partial(theirs.enqueue_pages, fresh.take(4)),
                "admit_known": lambda: partial(ours.admit_batches, batches(mixed)),
                "enqueue_known": lambda: partial(theirs.enqueue_pages, mixed.take(4)),
                "admit_verb": lambda: partial(ours.admit, ours.candidates(fresh.take(10))),
                "duplicates": lambda: partial(ours.admit_pages, old[:10]),
                "their_duplicates": lambda: partial(theirs.duplicates, old[:4]),
                "lease": lambda: eager.requests_and_settle,
                "dequeue": lambda: partial(theirs.dequeue, 200),
                "lease_verb": lambda: eager.lease_and_settle,
                "lease_polite": lambda: ours.requests_and_settle,
            },
            sizes.rounds,
            redis.cpu_seconds,
        )
        urls_per_lease = {"eager": round(eager.urls_per_lease(), 2), "polite": round(ours.urls_per_lease(), 2)}
        ours.clear()
        eager.clear()
    against = {
        "admit": ("admit", "enqueue"),
        "admit_known": ("admit_known", "enqueue_known"),
        "admit_verb": ("admit_verb", "enqueue"),
        "lease": ("lease", "dequeue"),
        "lease_verb": ("lease_verb", "dequeue"),
        "lease_polite": ("lease_polite", "dequeue"),
        "duplicate": ("duplicates", "their_duplicates"),
    }
    figures: dict[str, Any] = {
        "admit_per_second": round(cost["admit"].per_second),
        "admit_known_per_second": round(cost["admit_known"].per_second),
        "admit_verb_per_second": round(cost["admit_verb"].per_second),
        "lease_settle_per_second": round(cost["lease"].per_second),
        "lease_settle_verb_per_second": round(cost["lease_verb"].per_second),
        "lease_settle_polite_per_second": round(cost["lease_polite"].per_second),
        "urls_per_lease": urls_per_lease,
        "duplicate_test_per_second": round(cost["duplicates"].per_second),
        "scrapy_redis": {
            "enqueue_per_second": round(cost["enqueue"].per_second),
            "enqueue_known_per_second": round(cost["enqueue_known"].per_second),
            "dequeue_per_second": round(cost["dequeue"].per_second),
            "duplicate_test_per_second": round(cost["their_duplicates"].per_second),
        },
        "cpu_us_per_url": {name: round(one.cpu_seconds * 1e6, 2) for name, one in cost.items()},
    }
    for name, (mine, other) in against.items():
        figures[f"ratio_{name}_vs_scrapy_redis"] = round(cost[mine].times_faster_than(cost[other]), 2)
        figures[f"ratio_{name}_vs_scrapy_redis_cpu"] = round(cost[mine].times_less_cpu_than(cost[other]), 2)
    return figures


def batches(pages: Pages, about: int = 3) -> list[list[Page]]:
    """What some calls of admit carry, each a batch of pages."""
    return [pages.batch() for _ in range(about)]


def bytes_per_url(redis: PrivateRedis, sizes: Sizes) -> dict[str, Any]:
    """Of a queued URL, with and without the page it was found on, and of scrapy-redis's."""
    found: dict[str, float] = {}
    for name, referrers in (("with_referrer", True), ("without_referrer", False)):
        with closing(Ours(redis.url, sizes.queued, referrers=referrers)) as ours:
            ours.warm_up()
            before = redis.bytes_of_data()
            ours.fill(Pages(sizes.queued // URLS_PER_SERVER, seed=3), sizes.queued)
            queued = ours.queued()
            whole = redis.bytes_of_data() - before
            seen = redis.forget(f"frontier:{{{ours.name}:*}}:u:*")
            found[name] = (whole - seen) / queued
            found["seen"] = seen / queued
            ours.clear()
    with closing(ScrapyRedis(redis.url)) as theirs:
        before = redis.bytes_of_data()
        pages = Pages(max(1, sizes.theirs_queued // URLS_PER_SERVER), seed=3)
        while len(theirs) < sizes.theirs_queued + 200 * sizes.rounds:
            theirs.enqueue_pages(pages.batch())
        queued = len(theirs)
        whole = redis.bytes_of_data() - before
        theirs.clear_seen()
        left = redis.bytes_of_data() - before
    return {
        "bytes_per_queued_url": round(found["with_referrer"], 1),
        "bytes_per_queued_url_without_referrer": round(found["without_referrer"], 1),
        "bytes_per_seen_url": round(found["seen"], 2),
        "scrapy_redis_bytes": {"queued_url": round(left / queued, 1), "seen_url": round((whole - left) / queued, 1)},
        "url_characters": LENGTH,
        "urls_per_server": URLS_PER_SERVER,
    }


def scaling(redis: PrivateRedis, sizes: Sizes) -> dict[str, Any]:
    """The verbs at two sizes."""
    rivals: dict[str, Callable[[], Job]] = {}
    with ExitStack() as stack:
        before = redis.bytes_of_data()
        large_bytes = 0
        for seed, (name, urls) in enumerate((("small", sizes.small), ("large", sizes.large))):
            ours = stack.enter_context(closing(Ours(redis.url, urls)))
            stack.callback(ours.clear)
            pages = Pages(urls // URLS_PER_SERVER, seed=seed)
            started = redis.bytes_of_data()
            ours.fill(pages, urls)
            large_bytes = redis.bytes_of_data() - started
            rivals[f"admit_{name}"] = lambda ours=ours, pages=pages: partial(  # type: ignore[misc]
                ours.admit, ours.candidates(pages.take(10))
            )
            rivals[f"lease_{name}"] = lambda ours=ours: ours.lease_and_settle  # type: ignore[misc]
        cost = measure(rivals, sizes.rounds, redis.cpu_seconds)
        resident = redis.resident_bytes()
        data = redis.bytes_of_data() - before

    def ratio(verb: str, of: Callable[[Cost], float]) -> float:
        return round(of(cost[f"{verb}_large"]) / of(cost[f"{verb}_small"]), 3)

    return {
        "cost_ratio_10m_vs_100k": {verb: ratio(verb, lambda one: one.seconds) for verb in ("admit", "lease")},
        "cost_ratio_10m_vs_100k_cpu": {verb: ratio(verb, lambda one: one.cpu_seconds) for verb in ("admit", "lease")},
        "scaling_cpu_us_per_url": {name: round(one.cpu_seconds * 1e6, 2) for name, one in cost.items()},
        "redis_memory": {"data": data, "data_of_large": large_bytes, "resident": resident},
    }


ROWS = (
    ("admit, all new", "admit_per_second", "ratio_admit_vs_scrapy_redis", "10"),
    ("admit, 60 % known", "admit_known_per_second", "ratio_admit_known_vs_scrapy_redis", ""),
    ("admit, the verb alone", "admit_verb_per_second", "ratio_admit_verb_vs_scrapy_redis", ""),
    ("lease + settle", "lease_settle_per_second", "ratio_lease_vs_scrapy_redis", "8"),
    ("lease + settle, verbs alone", "lease_settle_verb_per_second", "ratio_lease_verb_vs_scrapy_redis", ""),
    ("… with the default delay", "lease_settle_polite_per_second", "ratio_lease_polite_vs_scrapy_redis", ""),
    ("duplicate test", "duplicate_test_per_second", "ratio_duplicate_vs_scrapy_redis", ""),
)


def table(figures: dict[str, Any]) -> Table:
    """For a terminal."""
    shown = Table(title="Frontier against scrapy-redis")
    for name in ("", "URLs/s", "× scrapy-redis", "× by CPU", "target"):
        shown.add_column(name, justify="right" if name else "left")
    for words, rate, ratio, target in ROWS:
        shown.add_row(words, f"{figures[rate]:,}", f"{figures[ratio]:.1f}", f"{figures[ratio + '_cpu']:.1f}", target)
    theirs = figures["scrapy_redis_bytes"]
    shown.add_section()
    for words, name, other, target in (
        ("bytes a queued URL", "bytes_per_queued_url", "queued_url", "≤ 150"),
        ("… without its referrer", "bytes_per_queued_url_without_referrer", "queued_url", ""),
        ("bytes a seen URL", "bytes_per_seen_url", "seen_url", "≤ 5.2"),
    ):
        shown.add_row(words, f"{figures[name]:.1f}", f"{theirs[other] / figures[name]:.1f} less", "", target)
    shown.add_section()
    sizes = figures["sizes"]
    for verb, ratio in figures["cost_ratio_10m_vs_100k"].items():
        by_cpu = figures["cost_ratio_10m_vs_100k_cpu"][verb]
        words = f"{verb} at {sizes['large']:,} against {sizes['small']:,}"
        shown.add_row(words, "", f"{ratio:.2f}", f"{by_cpu:.2f}", "≤ 1.3")
    return shown


def _sizes(options: argparse.Namespace) -> Sizes:
    sizes = QUICK if options.quick else USUAL
    large = FULL if options.full else options.urls or sizes.large
    return Sizes(sizes.queued, sizes.theirs_queued, min(sizes.small, large), large, options.rounds or sizes.rounds)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.frontier", description=(__doc__ or "").split("\n")[0]
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works")
    size.add_argument("--full", action="store_true", help="scaling to 10 M URLs")
    size.add_argument("--urls", type=int, help="scaling to so many URLs (default: 1 M)")
    parser.add_argument("--rounds", type=int, help="of which the median is taken (default: 15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
