"""Whether a crawler's memory grows with its frontier: the same crawl beside more and more queued URLs, and a longer one.

    python -m tests.benchmarks.memory [--queued 100000,1000000,10000000] [--pages N] [--long K] [--json FILE]

The queue lives in Redis, so the crawler's process should not know how long it is. For each size a frontier of so many URLs on a hundredth as many servers is filled, every one
of them less promising than what the crawl finds (a few of their servers are tried where nothing else is due, and given up); then ``scrapy crawl topic`` goes on with that crawl, in a process of its own, on pages rich in links (`docweb`), and its greatest resident
memory is read. A last crawl, beside the shortest queue, fetches ``--long`` times as many pages: what a crawler keeps of what it has seen (its cache of seen URLs, what it learned
of folders) has bounds, and this tells how near to them it comes.

``peak_memory_mb`` {queued URLs: MB}; ``growth`` of the greatest queue over the shortest; ``long_peak_memory_mb`` and ``long_growth`` of the longer crawl. Ten million URLs take some 2 GB of
memory, twice as much disk, and a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks import docweb
from tests.benchmarks.links import Page, Pages
from tests.benchmarks.onecrawl import Crawl
from tests.benchmarks.privateredis import private_redis
from tests.benchmarks.rivals import Ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

URLS_PER_SERVER = 100
BEST_OF_THE_FILLED = 0.02
"""Less than any link of a topic crawl promises."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Crawl beside each queue, show what that took, and write it to a file."""
    options = _options(arguments)
    console = Console()
    with console.status("") as status, tempfile.TemporaryDirectory(prefix="memory-") as folder:
        figures = measure(Path(folder), options.queued, options.pages, options.long, status.update)
    console.print(table(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def measure(
    folder: Path, queued: Sequence[int], pages: int, times: int, tell: Callable[[str], object]
) -> dict[str, Any]:
    """The figures, under the names of the JSON file."""
    sizes = sorted(queued)
    web = docweb.documentation(folder, docweb.LINK_RICH, numbers=max(20, pages))

    def peak(size: int, pages: int) -> float:
        tell(f"{size:,} URLs queued: filling")
        with private_redis() as redis, closing(Ours(redis.url, sizes[-1])) as ours:
            ours.fill(_dull(size), size)
            tell(f"{size:,} URLs queued: crawling {pages:,} pages")
            settings = {"REDIS_URL": redis.url, "FRONTIER_CRAWL": ours.name, "SEEN_EXPECTED_URLS": sizes[-1]}
            crawl = Crawl(web.folder, web.seeds, [], docweb.TOPIC, pages, settings=settings)
            measured = crawl.run("ours")
            left = ours.queued()
            if left < size // 2:
                raise RuntimeError(f"The crawl used up the queue it was to run beside ({left} of {size} left)")
        return measured.peak_memory_mb

    short = {size: peak(size, pages) for size in sizes}
    long = peak(sizes[0], times * pages)
    return {
        "peak_memory_mb": {str(size): round(found, 1) for size, found in short.items()},
        "growth": round(short[sizes[-1]] / short[sizes[0]] - 1, 3),
        "pages": pages,
        "long_peak_memory_mb": round(long, 1),
        "long_growth": round(long / short[sizes[0]] - 1, 3),
        "long_pages": times * pages,
    }


def _dull(urls: int) -> Iterator[Page]:
    """Pages without end whose links promise next to nothing, on a hundredth as many servers as there are URLs to be queued."""
    rng = random.Random(urls)
    for page in Pages(max(1, urls // URLS_PER_SERVER), seed=urls):
        yield Page(page.url, page.depth, tuple((url, rng.random() * BEST_OF_THE_FILLED) for url, _ in page.links))


def table(figures: dict[str, Any]) -> Table:
    """The same for a terminal."""
    shown = Table(title="Greatest resident memory of the crawler's process")
    for name in ("URLs queued", "pages", "MB", "growth"):
        shown.add_column(name, justify="right")
    peaks = figures["peak_memory_mb"]
    first = next(iter(peaks))
    for size, found in peaks.items():
        shown.add_row(f"{int(size):,}", f"{figures['pages']:,}", f"{found:.1f}", f"{found / peaks[first] - 1:+.1%}")
    long, growth = figures["long_peak_memory_mb"], figures["long_growth"]
    shown.add_row(f"{int(first):,}", f"{figures['long_pages']:,}", f"{long:.1f}", f"{growth:+.1%}")
    return shown


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.memory", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--queued", type=_sizes, default=[100_000, 1_000_000, 10_000_000], help="URLs in the queue (100 k, 1 M, 10 M)"
    )
    parser.add_argument("--pages", type=int, default=500, help="that each crawl fetches (%(default)s)")
    parser.add_argument("--long", type=int, default=10, help="times as many in the last one (%(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args(arguments)


def _sizes(text: str) -> list[int]:
    return [int(float(one)) for one in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
