"""For how long the event loop stands still during a topic crawl: by frontier, scheduler and seen test, and altogether.

    python -m tests.benchmarks.reactor [--pages N] [--runs K] [--delay-ms MS] [--json FILE]

Scrapy is one thread: while the scheduler waits or computes, no byte of any download is read. The crawl is the one of ``tests.benchmarks.crawl``, on pages rich in
links of which one in 25 is over 1 MB; once with a Redis of its own, and once with one that gives every reply `--delay-ms` late. How time
is taken, and on whose account: `blocking`.

``blocked_ms_p999`` and ``blocked_ms_max`` are of frontier, scheduler and seen test, of the worse of the two crawls; of `--runs` runs the median counts. The CPU times beside
them tell how much of it was the machine's doing. ``near`` and ``late`` hold all accounts, ``total`` being the whole callback, parsing included.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from extensions.frontier.embedded import EmbeddedRedis
from settings import base
from tests.benchmarks import docweb
from tests.benchmarks.blocking import ACCOUNTS, PERCENTILES
from tests.benchmarks.onecrawl import METER, Crawl
from tests.faults import RedisProxy

if TYPE_CHECKING:
    from collections.abc import Sequence

BIG_EVERY = 25
BLOCKING = "tests.benchmarks.blocking.Blocking"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    options = _options(arguments)
    found: dict[str, list[dict[str, Any]]] = {"near": [], "late": []}
    with tempfile.TemporaryDirectory(prefix="reactor-") as name:
        folder = Path(name)
        numbers = max(BIG_EVERY, options.pages)
        web = docweb.documentation(folder / "web", docweb.LINK_RICH, numbers=numbers, big_every=BIG_EVERY)
        for run in range(options.runs):
            with Console(stderr=True).status(f"run {run + 1} of {options.runs}"):
                found["near"].append(measure(web, options.pages, folder / "near.json", delay_ms=0))
                found["late"].append(measure(web, options.pages, folder / "late.json", delay_ms=options.delay_ms))
    figures = compare(found)
    Console().print(table(figures, options.delay_ms))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def measure(web: docweb.DocWeb, pages: int, file: Path, *, delay_ms: float) -> dict[str, Any]:
    """Crawl once; what `blocking` found."""
    extensions = base.EXTENSIONS | {METER: 1, BLOCKING: 2}
    settings: dict[str, Any] = {"EXTENSIONS": json.dumps(extensions), "BLOCKING_FILE": str(file)}
    with ExitStack() as stack:
        if delay_ms:
            redis = EmbeddedRedis(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reactor-"))))
            redis.start()
            stack.callback(redis.stop)
            proxy = stack.enter_context(RedisProxy(redis.url))
            proxy.delay = delay_ms / 1000
            settings["REDIS_URL"] = proxy.url
        crawl = Crawl(web.folder, web.seeds, [], docweb.TOPIC, pages, settings=settings)
        measured = crawl.run("ours")
    return json.loads(file.read_text()) | {"pages": measured.pages}


def compare(found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The figures under the names of the JSON file: medians over the runs."""
    figures: dict[str, Any] = {where: _medians(runs) for where, runs in found.items()}
    for clock, prefix in (("wall", "blocked_ms"), ("cpu", "blocked_cpu_ms")):
        for name in ("p999", "max"):
            figures[f"{prefix}_{name}"] = max(figures[where]["frontier"][clock][name] for where in found)
    return figures


def table(figures: dict[str, Any], delay_ms: float) -> Table:
    """The same for a terminal."""
    shown = Table(
        title=f"Blocked by frontier, scheduler and seen test: {figures['blocked_ms_p999']:.2f} ms at the 99.9th percentile, "
        f"{figures['blocked_ms_max']:.2f} ms at most",
        caption="milliseconds on the wall, CPU milliseconds in parentheses",
    )
    for title in ("Redis", "account", "samples", *PERCENTILES):
        shown.add_column(title, justify="right" if title in PERCENTILES else "left")
    for where, words in (("near", "near"), ("late", f"{delay_ms:g} ms late")):
        for account in (*ACCOUNTS, "total"):
            one = figures[where][account]
            cells = (f"{one['wall'][name]:.2f} ({one['cpu'][name]:.2f})" for name in PERCENTILES)
            shown.add_row(words, account, str(one["samples"]), *cells)
        late = figures[where]["heartbeat_late"]
        shown.add_row(words, "heartbeat", "", *(f"{late[name]:.2f}" for name in PERCENTILES))
    return shown


def _medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One mapping of the medians of each figure in several alike."""
    return {
        name: _medians([run[name] for run in runs]) if isinstance(value, dict) else median(run[name] for run in runs)
        for name, value in runs[0].items()
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.reactor", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=500, help="that each crawl fetches (%(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="of which the medians are told (%(default)s)")
    parser.add_argument("--delay-ms", type=float, default=5.0, help="by which the far Redis is late (%(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
