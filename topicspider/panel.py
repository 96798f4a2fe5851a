"""The crawl while it runs: a live panel on a terminal, elsewhere a line in the log every OUTPUT_PROGRESS_SECONDS.

The panel stays at the bottom of the terminal, log lines scroll above it. It is drawn from the event loop, never from a thread, and
leaves signals alone: Ctrl-C does what Scrapy makes of it.
"""

from __future__ import annotations

import atexit
import io
import logging
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from extensions.config import Config
from topicspider.figures import Figures, clock

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 0.5
RECENT_SECONDS = 10.0


class Rates:
    """Pages per second: since the start, and of late."""

    def __init__(self, now: float, recent_seconds: float = RECENT_SECONDS) -> None:
        self.started = now
        self._recent_seconds = recent_seconds
        self._samples: deque[tuple[float, int]] = deque([(now, 0)])

    def update(self, now: float, pages: int) -> tuple[float, float]:
        """The recent and the overall rate at `now`."""
        self._samples.append((now, pages))
        while len(self._samples) > 2 and self._samples[1][0] <= now - self._recent_seconds:
            self._samples.popleft()
        then, pages_then = self._samples[0]
        recent = (pages - pages_then) / (now - then) if now > then else 0.0
        overall = pages / (now - self.started) if now > self.started else 0.0
        return recent, overall


class PanelExtension:
    """Shows how the crawl is doing."""

    def __init__(self, crawler: Crawler, title: str, display: TerminalDisplay | None, interval_seconds: float) -> None:
        self._stats = crawler.stats
        self._title = title
        self._display = display
        self._interval_seconds = interval_seconds
        self._rates = Rates(time.monotonic())
        self._loop: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PanelExtension:
        """A panel where stderr is a terminal; otherwise log lines; nothing if neither is wanted."""
        config = Config.from_settings(crawler.settings)
        spider = crawler.spider or crawler.spidercls
        console = Console(stderr=True, highlight=False)
        live = sys.stderr.isatty() and not console.is_dumb_terminal
        if not live and not config.progress_seconds:
            raise NotConfigured("no terminal, and OUTPUT_PROGRESS_SECONDS is 0")
        display = TerminalDisplay(console) if live else None
        interval = REFRESH_SECONDS if live else config.progress_seconds
        panel = cls(crawler, config.crawl_of(spider.name), display, interval)
        crawler.signals.connect(panel.spider_opened, signals.spider_opened)
        crawler.signals.connect(panel.spider_closed, signals.spider_closed)
        return panel

    def spider_opened(self) -> None:
        """Begin."""
        self._rates = Rates(time.monotonic(), max(RECENT_SECONDS, self._interval_seconds))
        if self._display is not None:
            self._display.start()
        self._loop = create_looping_call(self._refresh)
        self._loop.start(self._interval_seconds, now=self._display is not None)

    def spider_closed(self) -> None:
        """End, and give the terminal back."""
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        if self._display is not None:
            self._display.stop()

    def _refresh(self) -> None:
        now = time.monotonic()
        figures = Figures.read(self._stats.get_stats())
        recent, overall = self._rates.update(now, figures.pages)
        elapsed = now - self._rates.started
        if self._display is not None:
            self._display.show(panel_of(self._title, figures, recent, overall, elapsed))
        else:
            logger.info("%s", line_of(figures, recent, overall, elapsed))


def line_of(figures: Figures, recent: float, overall: float, elapsed_seconds: float) -> str:
    """Everything in one line of the log."""
    return (
        f"{figures.pages:,} pages, {figures.relevant:,} on topic (harvest rate {figures.harvest_rate:.1%}), "
        f"{recent:.1f} pages/s ({overall:.1f} overall), {figures.queued:,} URLs queued, "
        f"{figures.open_servers:,} servers open, seen cache {figures.cache_hit_rate:.1%}, {clock(elapsed_seconds)}"
    )


def panel_of(title: str, figures: Figures, recent: float, overall: float, elapsed_seconds: float) -> Panel:
    """Everything in a panel of two rows."""
    grid = Table.grid(padding=(0, 3))
    for row in (
        (
            ("pages", f"{figures.pages:,}"),
            ("on topic", f"{figures.relevant:,}"),
            ("harvest rate", f"{figures.harvest_rate:.1%}"),
            ("pages/s", f"{recent:.1f} ({overall:.1f} overall)"),
        ),
        (
            ("queued", f"{figures.queued:,}"),
            ("open servers", f"{figures.open_servers:,}"),
            ("seen cache", f"{figures.cache_hit_rate:.1%}"),
            ("elapsed", clock(elapsed_seconds)),
        ),
    ):
        grid.add_row(*(Text.assemble((label, "dim"), " ", (value, "bold")) for label, value in row))
    return Panel(grid, title=Text(title), title_align="left", expand=False)


class TerminalDisplay:
    """A region at the bottom of the terminal, redrawn on demand; what is logged meanwhile appears above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._handlers: list[logging.StreamHandler[Any]] = []
        self._stream = sys.stderr

    def start(self) -> None:
        """Take the bottom lines. `stop` gives them back, at the latest when the interpreter exits."""
        self._stream = sys.stderr
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # a feed that is piped elsewhere stays out of the terminal
            redirect_stderr=True,
        )
        self._live.start()
        self._console.show_cursor(True)  # hidden, it would stay so when the process is killed
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is self._stream:
                handler.setStream(_LinesAbove(self._console))
                self._handlers.append(handler)
        atexit.register(self.stop)

    def show(self, panel: Panel) -> None:
        """Draw the panel anew."""
        if self._live is not None:
            self._live.update(panel, refresh=True)

    def stop(self) -> None:
        """Remove the panel and restore the log; again is harmless."""
        atexit.unregister(self.stop)
        for handler in self._handlers:
            handler.setStream(self._stream)
        self._handlers.clear()
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()


class _LinesAbove(io.TextIOBase):
    """A stream for log handlers that prints each record above the live region, unwrapped, so that it can be copied."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def write(self, text: str) -> int:
        self._console.print(Text.from_ansi(text.removesuffix("\n")), soft_wrap=True)
        return len(text)

    def isatty(self) -> bool:
        return True
