"""The seen-set's bytes and mistakes, the price of a look-up, and the miss rate of each cache policy against its size.

    python -m tests.benchmarks.seen [--quick] [--urls N,N,…] [--trace FILE [--requests N]] [--json FILE] [--plot FILE]

*The set* is laid out for as many URLs as it gets, in the default partitions, and lies in an embedded Redis. ``bytes_per_url`` is the difference of used_memory. ``false_seen_rate`` is counted: URLs
that are all different fill the set, as many others are tested against it, and each one that the set takes for known is a mistake. ``skewed`` is a web one of whose servers has half of all URLs.

*The caches* see a trace: a file of raw URLs in the order of discovery, one a line (also .gz), or a made one. ``miss_rate`` has the policies (static holds the URLs that are most
popular in this very trace, which no crawl can know beforehand) and two bounds: min is Belady's clairvoyant optimum, exact, and infinite misses only what is new.
``critical_size`` is where clock's curve bends: the size after which no doubling gains a twentieth of what there is to gain between the smallest cache and the infinite one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from scrapy.settings import Settings

from extensions.config import Config
from extensions.seen import SeenLayout
from extensions.seen.caches import miss_rate
from tests.benchmarks.lookups import lookup_ns
from tests.benchmarks.privateredis import private_redis
from tests.benchmarks.seenset import SetFigures, fill_and_test
from tests.benchmarks.svg import line_chart
from tests.benchmarks.traces import made_trace, read_trace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POLICIES = ("clock", "lru", "random", "static")
BOUNDS = ("min", "infinite")
SMALLEST = 2**7
LARGEST = 2**19
SMALL_GAIN = 0.05
SKEW = 0.5
LOOKUP_URLS = 20_000


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    options = _options(arguments)
    console = Console(stderr=True)
    config = Config.from_settings(Settings({"FRONTIER_CRAWL": "benchmark"}))
    figures: dict[str, Any] = {}
    with private_redis() as redis:
        # The set alone is measured, not how it was filled.
        redis.client.config_set("appendonly", "no")
        sets: dict[int, SetFigures] = {}
        for urls in options.urls:
            with console.status(f"seen-set of {urls:,} URLs"):
                layout = SeenLayout.for_expected(urls, config.partitions)
                sets[urls] = fill_and_test(redis, urls, layout=layout)
        least = min(options.urls)
        with console.status(f"seen-set of {least:,} URLs, half of them one server's"):
            layout = SeenLayout.for_expected(least, config.partitions)
            skewed = fill_and_test(redis, least, layout=layout, share_of_first=SKEW, fresh=least // 10)
    figures |= set_figures(sets, skewed)
    with console.status("look-ups"):
        rounds, count = (2, 1_000) if options.quick else (15, LOOKUP_URLS)
        figures |= lookup_figures(count, rounds)
    with console.status("caches"):
        trace = (
            read_trace(options.trace, options.requests) if options.trace else made_trace(options.requests or 400_000)
        )
        figures |= cache_figures(trace, config.seen_cache_size, largest=2**12 if options.quick else LARGEST)
    Console().print(set_table(sets, skewed), lookup_table(figures), cache_table(figures), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    if options.plot:
        options.plot.write_text(chart(figures), encoding="utf-8")
    return 0


def set_figures(sets: Mapping[int, SetFigures], skewed: SetFigures) -> dict[str, Any]:
    """Size → each figure."""
    return {
        "bytes_per_url": {str(urls): round(one.bytes_per_url, 3) for urls, one in sets.items()},
        "false_seen_rate": {str(urls): one.false_seen_rate for urls, one in sets.items()},
        "false_seen": {str(urls): {"mistaken": one.false_seen, "tested": one.tested} for urls, one in sets.items()},
        "false_seen_rate_expected": {str(urls): one.expected_rate for urls, one in sets.items()},
        "skewed": {
            "urls": skewed.urls,
            "share_of_one_server": SKEW,
            "bytes_per_url": round(skewed.bytes_per_url, 3),
            "intset_share": round(skewed.intset_share, 4),
            "largest_bucket": skewed.largest_bucket,
        },
    }


def lookup_figures(urls: int, rounds: int) -> dict[str, Any]:
    """Nanoseconds, and how much dearer Scrapy's filter in memory is."""
    found = lookup_ns(
        [f"https://www.site{n % 97}.example/archive/article-{n:08d}.html" for n in range(urls)], rounds, POLICIES
    )
    return {
        "lookup_ns": {name: round(each, 1) for name, each in found.items()},
        "ratio_hit_vs_scrapy": round(found["scrapy"] / found["filter"], 1),
        "ratio_hit_vs_scrapy_with_request": round(found["scrapy_with_request"] / found["filter"], 1),
    }


def cache_figures(trace: Sequence[str], default_size: int, largest: int = LARGEST) -> dict[str, Any]:
    """Miss rates of all policies at all sizes, and where clock's curve bends."""
    popular = [url for url, _ in Counter(trace).most_common(largest)]
    sizes = doublings(SMALLEST, largest)
    rates: dict[str, dict[str, float]] = {}
    for policy in POLICIES + BOUNDS:
        rates[policy] = {str(size): round(miss_rate(policy, trace, size, popular), 5) for size in sizes}
    clock = {size: rates["clock"][str(size)] for size in sizes}
    floor = rates["infinite"][str(sizes[0])]
    critical = critical_size(clock, floor)
    default = miss_rate("clock", trace, default_size)
    doubled = miss_rate("clock", trace, 2 * default_size)
    return {
        "trace": {"requests": len(trace), "distinct": len(set(trace))},
        "miss_rate": rates,
        "gain_of_doubling": {str(size): round(clock[size] - clock[twice], 5) for size, twice in pairwise(sizes)},
        "critical_size": critical,
        "default": {
            "size": default_size,
            "miss_rate": round(default, 5),
            "gain_of_doubling": round(default - doubled, 5),
            "above_infinite": round(default - floor, 5),
        },
    }


def doublings(smallest: int, largest: int) -> list[int]:
    """Sizes, each twice the one before."""
    sizes = [smallest]
    while sizes[-1] * 2 <= largest:
        sizes.append(sizes[-1] * 2)
    return sizes


def critical_size(rates: Mapping[int, float], floor: float) -> int:
    """The least size from which on no doubling gains more than `SMALL_GAIN` of all that can be gained; the greatest if none is."""
    sizes = sorted(rates)
    whole = rates[sizes[0]] - floor
    critical = sizes[-1]
    for size, twice in reversed(list(pairwise(sizes))):
        if rates[size] - rates[twice] > SMALL_GAIN * whole:
            break
        critical = size
    return critical


def chart(figures: Mapping[str, Any]) -> str:
    """Miss rate against size, as SVG."""
    curves = {
        policy: {int(size): rate for size, rate in rates.items()} for policy, rates in figures["miss_rate"].items()
    }
    trace = figures["trace"]
    return line_chart(
        {policy.upper(): points for policy, points in curves.items()},
        title=f"What each cache misses of {trace['requests']:,} URLs, {trace['distinct']:,} of them different",
        x_label="URLs in the cache",
        y_label="miss rate",
        marks={"default": figures["default"]["size"]},
    )


def set_table(sets: Mapping[int, SetFigures], skewed: SetFigures) -> Table:
    shown = Table(title="Seen-set")
    for name in ("URLs", "bytes a URL", "intsets", "largest", "mistaken", "of", "expected rate", "filled in"):
        shown.add_column(name, justify="right")
    for words, one in [*((f"{urls:,}", one) for urls, one in sets.items()), (f"{skewed.urls:,}, skewed", skewed)]:
        shown.add_row(
            words,
            f"{one.bytes_per_url:.2f}",
            f"{one.intset_share:.1%}",
            str(one.largest_bucket),
            str(one.false_seen),
            f"{one.tested:,}",
            f"{one.expected_rate:.1e}",
            f"{one.fill_seconds:.0f} s",
        )
    return shown


def lookup_table(figures: Mapping[str, Any]) -> Table:
    shown = Table(title=f"A hit; Scrapy's filter takes {figures['ratio_hit_vs_scrapy']:g} times as long as ours")
    for name in figures["lookup_ns"]:
        shown.add_column(name, justify="right")
    shown.add_row(*(f"{each:,.0f} ns" for each in figures["lookup_ns"].values()))
    return shown


def cache_table(figures: Mapping[str, Any]) -> Table:
    default = figures["default"]
    shown = Table(
        title=f"Miss rates; the curve bends at {figures['critical_size']:,}; at the default of {default['size']:,} "
        f"{default['miss_rate']:.3f} are missed, twice the size would save {default['gain_of_doubling']:.3f}"
    )
    for name in ("size", *figures["miss_rate"], "gain of doubling"):
        shown.add_column(name, justify="right")
    for size in figures["miss_rate"]["clock"]:
        gain = figures["gain_of_doubling"].get(size)
        rates = [f"{rates[size]:.4f}" for rates in figures["miss_rate"].values()]
        shown.add_row(f"{int(size):,}", *rates, "" if gain is None else f"{gain:.4f}")
    return shown


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.seen", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--urls", type=_numbers, metavar="N,…", help="sizes of the seen-set (default: 1000000)")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="raw URLs in the order of discovery, one a line")
    parser.add_argument("--requests", type=int, metavar="N", help="of the trace only the first so many")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write miss rate against size there, as SVG")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works")
    options = parser.parse_args(arguments)
    options.urls = options.urls or ([20_000] if options.quick else [1_000_000])
    if options.quick:
        options.requests = options.requests or 10_000
    return options


def _numbers(text: str) -> list[int]:
    return sorted({int(float(part)) for part in text.split(",")})


if __name__ == "__main__":
    sys.exit(main())
