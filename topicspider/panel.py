"""The crawl while it runs: a live panel on a terminal, elsewhere a line in the log every OUTPUT_PROGRESS_SECONDS.

Where several agents are at work, both show the crawl's totals, the others' part as of their last heartbeats.

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
from topicspider.agents import Agents
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

    def begin_again(self, now: float, pages: int) -> None:
        """Forget what was of late: other agents' pages have come in all at once."""
        self._samples = deque([(now, pages)])

    def update(self, now: float, pages: int, elapsed: float | None = None) -> tuple[float, float]:
        """The recent and the overall rate at `now`. `elapsed` is since the crawl began, where that was before the start here."""
        if elapsed is None:
            elapsed = now - self.started
        self._samples.append((now, pages))
        while len(self._samples) > 2 and self._samples[1][0] <= now - self._recent_seconds:
            self._samples.popleft()
        then, pages_then = self._samples[0]
        recent = (pages - pages_then) / (now - then) if now > then else 0.0
        overall = pages / elapsed if elapsed > 0 else 0.0
        return recent, overall


class PanelExtension:
    """Shows how the crawl is doing."""

    def __init__(self, crawler: Crawler, config: Config, title: str, display: TerminalDisplay | None) -> None:
        self._crawler = crawler
        self._title = title
        self._display = display
        self._lease_seconds = config.lease_seconds
        self._interval_seconds = config.progress_seconds if display is None else REFRESH_SECONDS
        self._rates = Rates(time.monotonic())
        self._known = 1
        """Agents, at the last look."""
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
        panel = cls(crawler, config, config.crawl_of(spider.name), display)
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
        own_ms = int((now - self._rates.started) * 1000)
        agents = Agents.of(self._crawler, 0, own_ms, self._lease_seconds)
        figures = Figures.read(agents.merged())
        elapsed = agents.elapsed_seconds
        if len(agents.records) != self._known:
            self._known = len(agents.records)
            self._rates.begin_again(now, figures.pages)
        recent, overall = self._rates.update(now, figures.pages, elapsed)
        running = agents.running
        if self._display is not None:
            title = f"{self._title}, {running} agents" if agents.several else self._title
            self._display.show(panel_of(title, figures, recent, overall, elapsed))
        else:
            company = f"{running} agents: " if agents.several else ""
            logger.info("%s%s", company, line_of(figures, recent, overall, elapsed))


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
