"""What a download costs in each of Scrapy's download handlers and in ours: HTTP/1.1 and HTTP/2 of Twisted, aiohttp, httpx; plain and over TLS.

    python -m tests.benchmarks.handlers [--ways http11,ours_tls,…] [--pages N] [--runs K] [--uvloop] [--json FILE]

Scrapy downloads a list of URLs and looks at none (`plainscrapy`), over connections that are kept, from Twisted's own web server on loopback (`pageweb`): 16 servers, one request
at a time at each. Pages of 12 KB and of 88 KB, uncompressed. Each run takes each way once, in turning order; what is told is the median over the runs, in CPU time of the
crawler's process, all that Scrapy does around the handler included.

``cpu_ms_per_connection`` is what opening one costs: the same again from servers that end each connection after one answer, and the difference. HTTP/2
has no word for that, so it is not told there.

A way whose packages are missing is left out: h2 for HTTP/2 (the server needs priority, too), httpx, aiohttp, uvloop. They are no part of the project; ``PYTHONPATH`` may
lead to a folder that has them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks import docweb, plainscrapy
from tests.benchmarks.onecrawl import METER_FILE, scrapy_process
from tests.benchmarks.pageweb import PageWeb

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVERS = 16
SIZES = {"few_links": docweb.FEW_LINKS, "link_rich": docweb.LINK_RICH}
"""12 KB and 88 KB."""
_SCRAPY = "scrapy.core.downloader.handlers."


@dataclass(frozen=True)
class Way:
    """A handler, and what it is to speak."""

    handler: str
    scheme: str = "https"
    needs: tuple[str, ...] = ()
    """Packages."""
    multiplexes: bool = False
    """HTTP/2."""
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def possible(self) -> bool:
        """Whether all it needs is installed."""
        return all(find_spec(name) is not None for name in self.needs)


_TWISTED, _OURS = f"{_SCRAPY}http11.HTTP11DownloadHandler", "extensions.connections.ConnectionHandler"
_AIOHTTP, _HTTPX = f"{_SCRAPY}_aiohttp.AiohttpDownloadHandler", f"{_SCRAPY}_httpx.HttpxDownloadHandler"
_H2 = ("h2", "priority")
WAYS = {
    "http11": Way(_TWISTED, "http"),
    "ours": Way(_OURS, "http"),
    "aiohttp": Way(_AIOHTTP, "http", ("aiohttp",)),
    "httpx": Way(_HTTPX, "http", ("httpx",)),
    "http11_tls": Way(_TWISTED),
    "ours_tls": Way(_OURS),
    "aiohttp_tls": Way(_AIOHTTP, needs=("aiohttp",)),
    "httpx_tls": Way(_HTTPX, needs=("httpx",)),
    "http2_tls": Way(f"{_SCRAPY}http2.H2DownloadHandler", needs=_H2, multiplexes=True),
    "httpx_http2_tls": Way(_HTTPX, needs=("httpx", *_H2), multiplexes=True, settings={"HTTPX_HTTP2_ENABLED": True}),
}


@dataclass(frozen=True)
class Download:
    """So many pages in one way. Seconds of CPU are of the crawler's process."""

    pages: int
    cpu_seconds: float
    wall_seconds: float
    start_cpu_seconds: float
    connections: int
    web_cpu_seconds: float


def download(
    way: Way, body: bytes, pages: int, *, close: bool = False, settings: dict[str, Any] | None = None
) -> Download:
    """Do it once, in a process of its own. Raises `RuntimeError` where a page is missing."""
    with tempfile.TemporaryDirectory(prefix="handlers-") as name:
        folder = Path(name)
        with PageWeb(body, servers=SERVERS) as web:
            (folder / "urls.txt").write_text("\n".join(web.urls(way.scheme, pages, close=close)) + "\n")
            found = scrapy_process(
                folder,
                plainscrapy.__name__,
                "fetch_only",
                {
                    "URLS_FILE": "urls.txt",
                    "METER_FILE": METER_FILE,
                    "CONCURRENT_REQUESTS": SERVERS,
                    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
                    "DOWNLOAD_DELAY": 0,
                    "ROBOTSTXT_OBEY": False,
                    "DOWNLOAD_HANDLERS": json.dumps({way.scheme: way.handler}),
                    **way.settings,
                    **(settings or {}),
                },
            )
        if found["pages"] != pages:
            raise RuntimeError(f"{found['pages']} of {pages} pages by {way.handler}: {found['stats']}")
    figures = {name: found[name] for name in ("cpu_seconds", "wall_seconds", "start_cpu_seconds")}
    return Download(pages, connections=web.connections, web_cpu_seconds=web.cpu_seconds, **figures)


def compare(kept: dict[str, list[Download]], closed: dict[str, list[Download]]) -> dict[str, dict[str, float]]:
    """The figures of one size of pages, under the names of the JSON file: {figure: {way: …}}."""
    found: dict[str, dict[str, float]] = {
        "cpu_ms_per_page": {way: median(1000 * one.cpu_seconds / one.pages for one in of) for way, of in kept.items()},
        "pages_per_second": {way: median(one.pages / one.wall_seconds for one in of) for way, of in kept.items()},
        "connections_per_page": {way: median(one.connections / one.pages for one in of) for way, of in kept.items()},
        "start_cpu_seconds": {way: median(one.start_cpu_seconds for one in of) for way, of in kept.items()},
        "web_share": {way: median(one.web_cpu_seconds / one.wall_seconds for one in of) for way, of in kept.items()},
    }
    found["cpu_ms_per_connection"] = {
        way: 1000
        * (median(one.cpu_seconds for one in of) - median(one.cpu_seconds for one in kept[way]))
        / max(1, median(one.connections for one in of) - median(one.connections for one in kept[way]))
        for way, of in closed.items()
    }
    return {name: {way: round(figure, 3) for way, figure in figures.items()} for name, figures in found.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    options = _options(arguments)
    settings = {"ASYNCIO_EVENT_LOOP": "uvloop.Loop"} if options.uvloop else {}
    ways = {name: WAYS[name] for name in options.ways if WAYS[name].possible}
    console = Console(stderr=True)
    for name in options.ways:
        if name not in ways:
            console.print(f"{name} is left out: it needs {', '.join(WAYS[name].needs)}.")
    figures = {}
    for size in options.sizes:
        body = _body(size)
        kept: dict[str, list[Download]] = {name: [] for name in ways}
        closed: dict[str, list[Download]] = {name: [] for name, way in ways.items() if not way.multiplexes}
        with console.status(size) as shown:
            for run in range(options.runs):
                names = list(ways)
                for name in names[run % len(names) :] + names[: run % len(names)]:
                    shown.update(f"{size}, run {run + 1} of {options.runs}: {name}")
                    kept[name].append(download(ways[name], body, options.pages, settings=settings))
                    if name in closed:
                        closed[name].append(download(ways[name], body, options.pages, close=True, settings=settings))
        figures[size] = compare(kept, closed)
        Console().print(table(f"{size}: {len(body) / 1000:.0f} KB", figures[size]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def table(title: str, figures: dict[str, dict[str, float]]) -> Table:
    """The same for a terminal."""
    columns = {
        "CPU ms a page": "cpu_ms_per_page",
        "CPU ms a connection": "cpu_ms_per_connection",
        "pages/s": "pages_per_second",
        "connections a page": "connections_per_page",
        "start-up, CPU s": "start_cpu_seconds",
        "web busy": "web_share",
    }
    shown = Table(title=title)
    for name in ("way", *columns):
        shown.add_column(name, justify="left" if name == "way" else "right")
    for way in figures["cpu_ms_per_page"]:
        cells = (figures[figure].get(way) for figure in columns.values())
        shown.add_row(way, *("" if cell is None else f"{cell:.3g}" for cell in cells))
    return shown


def _body(size: str) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        web = docweb.documentation(Path(name), SIZES[size], numbers=2)
        return (web.folder.parent / "pages" / "p0.html").read_bytes()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.handlers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, known in (("ways", WAYS), ("sizes", SIZES)):
        parser.add_argument(f"--{name}", type=_some_of(known), default=list(known), help=f"some of {','.join(known)}")
    parser.add_argument("--pages", type=int, default=500, help="that each downloads (%(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="of which the medians are told (%(default)s)")
    parser.add_argument("--uvloop", action="store_true", help="on uvloop instead of asyncio's own loop")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args(arguments)


def _some_of(known: dict[str, Any]) -> Any:
    def names(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(known):
            raise argparse.ArgumentTypeError(f"not known: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return text.split(",")

    return names


if __name__ == "__main__":
    sys.exit(main())
