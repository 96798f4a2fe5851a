"""Whole crawls side by side: pages a second of our crawler, of plain Scrapy, of scrapy-redis, and of Scrapy that downloads and does nothing else.

    python -m tests.benchmarks.crawl [--workloads link_rich,few_links] [--web DIR] [--pages N] [--runs K] [--no-robots] [--json FILE]

Ours is ``scrapy crawl topic`` as it is: relevance, durable frontier in its own Redis, pages and fetches stored. The others are described in
`plainscrapy`. One run is a crawl by each of them, one after the other, in turning order; what is told is the median over the runs. A crawl's clock runs from
the opened spider to the stopped engine.

**Politeness** is the same for all: one request at a time per server, no delay (the web is our own), robots.txt asked for by all or by none, as many requests
under way at once. **Pages**: made ones (`docweb`), rich in links (88 KB, 290 links) and poor in them (12 KB, 20 links), of which every crawl meets an even sample; each sees so many pages of
a web that has a hundred times more, so its frontier grows as on the open web. With `--web` a folder of real pages; there crawlers go different ways, and the
bytes a page that each has met are told.

**What the figures mean.** Crawls are bound by the processor, so the ratios (``ratio_vs_scrapy``, ``ratio_vs_scrapy_redis``, ``share_of_fetch_only``) compare pages per
second of CPU time of the crawler's process: whatever else the machine does, they stay what they are. ``pages_per_second`` is by the clock on the wall, and so are the
ratios in ``wall``. Redis and the web work in processes of their own; ``redis_cpu_ms_per_page`` and ``web_share`` (CPU time of the web's process over the clock on
the wall: near 1 it would be the bound) say how much. ``round_trips_per_page`` is ours; ``connections_per_page`` is what the web has seen.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks import docweb
from tests.benchmarks.onecrawl import CRAWLERS, Crawl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.benchmarks.onecrawl import Measured

SHAPES = {"link_rich": docweb.LINK_RICH, "few_links": docweb.FEW_LINKS}


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    options = _options(arguments)
    console = Console(stderr=True)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="crawls-") as name:
        for workload, crawl in _workloads(options, Path(name)):
            with console.status(workload) as shown:
                found = measure(crawl, options.runs, lambda words, shown=shown: shown.update(words))  # type: ignore[misc]
            figures[workload] = compare(found)
            Console().print(table(workload, figures[workload]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def measure(crawl: Crawl, runs: int, tell: Callable[[str], object]) -> dict[str, list[Measured]]:
    """So many runs, in each of which each crawler crawls once; who goes first changes."""
    found: dict[str, list[Measured]] = {crawler: [] for crawler in CRAWLERS}
    for run in range(runs):
        for place in range(len(CRAWLERS)):
            crawler = CRAWLERS[(run + place) % len(CRAWLERS)]
            tell(f"run {run + 1} of {runs}: {crawler}")
            found[crawler].append(crawl.run(crawler))
    return found


def compare(found: dict[str, list[Measured]]) -> dict[str, Any]:
    """The figures of one workload, under the names of the JSON file."""

    def medians(figure: Callable[[Measured], float]) -> dict[str, float]:
        return {crawler: median(map(figure, measured)) for crawler, measured in found.items()}

    per_cpu = medians(lambda one: one.pages / one.cpu_seconds)
    per_second = medians(lambda one: one.pages / one.wall_seconds)
    starts = medians(lambda one: one.start_cpu_seconds)
    return {
        "pages_per_second": _rounded(per_second),
        "pages_per_cpu_second": _rounded(per_cpu),
        **_ratios(per_cpu),
        "wall": _ratios(per_second),
        "round_trips_per_page": round(median(one.redis_round_trips / one.pages for one in found["ours"]), 3),
        "cpu_ms_per_page": _rounded(medians(lambda one: 1000 * one.cpu_seconds / one.pages)),
        "redis_cpu_ms_per_page": _rounded(medians(lambda one: 1000 * one.redis_cpu_seconds / one.pages)),
        "connections_per_page": _rounded(medians(lambda one: one.connections / one.pages)),
        "kilobytes_per_page": _rounded(medians(lambda one: one.bytes / one.requests / 1000)),
        "peak_memory_mb": _rounded(medians(lambda one: one.peak_memory_mb)),
        "start_cpu_seconds": _rounded(starts),
        "start_wall_seconds": _rounded(medians(lambda one: one.start_wall_seconds)),
        "start_ratio_vs_scrapy": round(starts["ours"] / starts["scrapy"], 3),
        "cpu_share": _rounded(medians(lambda one: one.cpu_seconds / one.wall_seconds)),
        "web_share": _rounded(medians(lambda one: one.web_cpu_seconds / one.wall_seconds)),
        "pages": {crawler: [one.pages for one in measured] for crawler, measured in found.items()},
    }


def table(workload: str, figures: dict[str, Any]) -> Table:
    """The same for a terminal."""
    shown = Table(
        title=f"{workload}: {figures['ratio_vs_scrapy']:.2f} × Scrapy, {figures['ratio_vs_scrapy_redis']:.2f} × scrapy-redis, "
        f"{figures['share_of_fetch_only']:.2f} of downloading alone; {figures['round_trips_per_page']:.3f} round trips a page",
        caption=f"Start-up {figures['start_ratio_vs_scrapy']:.2f} × Scrapy's",
    )
    columns = {
        "pages per CPU s": "pages_per_cpu_second",
        "pages/s": "pages_per_second",
        "CPU ms a page": "cpu_ms_per_page",
        "Redis ms": "redis_cpu_ms_per_page",
        "connections a page": "connections_per_page",
        "kB a page": "kilobytes_per_page",
        "MB": "peak_memory_mb",
        "web busy": "web_share",
    }
    for title in ("crawler", *columns):
        shown.add_column(title, justify="left" if title == "crawler" else "right")
    for crawler in CRAWLERS:
        shown.add_row(crawler, *(f"{figures[name][crawler]:.3g}" for name in columns.values()))
    return shown


def _ratios(rate: dict[str, float]) -> dict[str, float]:
    return {
        "ratio_vs_scrapy": round(rate["ours"] / rate["scrapy"], 3),
        "ratio_vs_scrapy_redis": round(rate["ours"] / rate["scrapy_redis"], 3),
        "share_of_fetch_only": round(rate["ours"] / rate["fetch_only"], 3),
    }


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(figure, 3) for name, figure in figures.items()}


def _workloads(options: argparse.Namespace, folder: Path) -> list[tuple[str, Crawl]]:
    common = {"pages": options.pages, "concurrency": options.concurrency, "robots": options.robots}
    if options.web:
        urls = _some_of(options.web, options.pages)
        seeds = options.seeds.read_text().split() if options.seeds else urls[: docweb.SEEDS]
        crawl = Crawl(options.web, seeds, urls, options.topic, tables=options.tables, **common)
        return [("web", crawl)]
    found = []
    for name in options.workloads:
        web = docweb.documentation(folder / name, SHAPES[name], numbers=max(20, options.pages))
        found.append((name, Crawl(web.folder, web.seeds, web.urls(options.pages), docweb.TOPIC, **common)))
    return found


def _some_of(web: Path, count: int) -> list[str]:
    """URLs of so many pages of a folder, an even sample."""
    files = sorted(path.relative_to(web).as_posix() for path in web.rglob("*.html"))
    chosen = random.Random(1).sample(files, min(count, len(files)))
    return [f"https://{one.removesuffix('index.html')}" for one in chosen]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.crawl", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--workloads", type=_names, default=list(SHAPES), help=f"some of {','.join(SHAPES)}")
    parser.add_argument("--web", type=Path, help="crawl this folder instead: DIR/<host>/<path>")
    parser.add_argument("--tables", type=Path, help="with --web: folder of pages.tsv and redirects.tsv")
    parser.add_argument(
        "--seeds", type=Path, help="with --web: file of URLs to begin at; otherwise some pages by chance"
    )
    parser.add_argument("--topic", default="python, library", help="with --web: the topic (%(default)s)")
    parser.add_argument("--pages", type=int, default=500, help="that each crawl fetches (%(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="of which the medians are told (%(default)s)")
    parser.add_argument("--concurrency", type=int, default=16, help="requests under way at once (%(default)s)")
    parser.add_argument("--no-robots", dest="robots", action="store_false", help="nobody asks for robots.txt")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(SHAPES):
        raise argparse.ArgumentTypeError(f"no such workload: {', '.join(sorted(unknown))}")
    return names


if __name__ == "__main__":
    sys.exit(main())
