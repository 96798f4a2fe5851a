"""A Scrapy extension that measures for how long each turn of the event loop kept everything else waiting, and on whose account.

The loop runs one callback after the other; while one runs, nothing else does. Each is timed, and within it what belongs to

- ``frontier``: the scheduler's and the duplicate filter's methods, the steps of the courier's task, and Redis's client reading its replies;
- ``parsing``: pages parsed and scored, the quality of their links included;
- ``storing``: rows and lines of the outputs, also where the courier asks for them to be stored;
- ``collecting``: Python's garbage collector, which may stop any of them: whoever happens to make the object that was one too many.

Time is that of the innermost of them. A sample is the time that one callback spent on one account, so calls that follow each other without the loop having a turn
between count as one. Beside the clock on the wall the thread's CPU time is taken: where the machine is busy with something else, the two
fall apart, and the second says what is this program's own. A heartbeat, asleep for `BEAT_SECONDS` at a time, notes how late it is woken.

With the setting BLOCKING_FILE the figures are written there as JSON. This wraps classes of the project in the process it runs in; it is for benchmarks only.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import json
import threading
import time
from asyncio import events
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured

from extensions import parsed, relevance
from extensions.courier import Courier
from extensions.dupefilter import CachedDupeFilter
from extensions.scheduler import TwoLevelScheduler
from topicspider.pipelines.database import DatabasePipeline
from topicspider.pipelines.pages import PagesPipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler

BEAT_SECONDS = 0.005
ACCOUNTS = ("frontier", "parsing", "storing", "collecting")
PERCENTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}
_SCHEDULER = [
    *("enqueue_request", "next_request", "has_pending_requests", "enqueue_links", "put_back", "may_send", "keep_back"),
    *("connected", "disconnected", "sweep", "_request_left_downloader", "_response_downloaded", "_robots_parsed"),
    "_request_reached_downloader",
]
_DUPEFILTER = ["request_seen", "cache_says_seen"]


class Ledger:
    """What the running callback has spent so far, on which account. One thread's."""

    def __init__(self) -> None:
        self.wall: defaultdict[str, list[float]] = defaultdict(list)
        self.cpu: defaultdict[str, list[float]] = defaultdict(list)
        self._spent: dict[str, list[float]] = {}
        self._accounts: list[str] = []
        self._since = (0.0, 0.0)
        self._booking = False
        self._collecting = False

    def begin(self, account: str) -> None:
        """From now on time is this account's."""
        self._book()
        self._accounts.append(account)

    def end(self) -> None:
        """From now on it is again whose it was before."""
        self._book()
        self._accounts.pop()

    def close(self) -> None:
        """The callback is over: what it spent becomes a sample of each account, and of ``total``."""
        wall, cpu = (sum(column) for column in zip(*self._spent.values(), strict=True))
        self._spent["total"] = [wall, cpu]
        for account, (wall, cpu) in self._spent.items():
            if account != "other":
                self.wall[account].append(wall * 1000)
                self.cpu[account].append(cpu * 1000)
        self._spent = {}

    @property
    def busy(self) -> bool:
        """Whether a callback is running."""
        return bool(self._accounts)

    def collector(self, phase: str, info: dict[str, int]) -> None:
        """For `gc.callbacks`. What is collected while this books something is left where it is."""
        if threading.current_thread() is not threading.main_thread():
            return
        if phase == "start" and self.busy and not self._booking:
            self._collecting = True
            self.begin("collecting")
        elif phase == "stop" and self._collecting:
            self._collecting = False
            self.end()

    def _book(self) -> None:
        self._booking = True
        now = time.perf_counter(), time.thread_time()
        if self._accounts:
            spent = self._spent.setdefault(self._accounts[-1], [0.0, 0.0])
            spent[0] += now[0] - self._since[0]
            spent[1] += now[1] - self._since[1]
        self._since = now
        self._booking = False

    def figures(self) -> dict[str, Any]:
        """Percentiles by account, in milliseconds."""
        return {
            account: {
                "samples": len(self.wall[account]),
                "seconds": round(sum(self.wall[account]) / 1000, 3),
                "wall": percentiles(self.wall[account]),
                "cpu": percentiles(self.cpu[account]),
            }
            for account in (*ACCOUNTS, "total")
        }


class Blocking:
    """Set it as an extension; see the module's docstring."""

    def __init__(self, crawler: Crawler) -> None:
        self._path = Path(crawler.settings["BLOCKING_FILE"])
        self._ledger = Ledger()
        self._late: list[float] = []
        self._heart: asyncio.Task[None] | None = None
        instrument(self._ledger)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._stopped, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Blocking:
        """Only where BLOCKING_FILE says where to."""
        if not crawler.settings.get("BLOCKING_FILE"):
            raise NotConfigured
        return cls(crawler)

    def _opened(self) -> None:
        self._ledger.wall.clear()
        self._ledger.cpu.clear()
        self._heart = asyncio.ensure_future(self._beat())

    async def _beat(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(BEAT_SECONDS)
            self._late.append(max(0.0, time.perf_counter() - began - BEAT_SECONDS) * 1000)

    def _stopped(self) -> None:
        if self._heart is not None:
            self._heart.cancel()
        found = self._ledger.figures() | {"heartbeat_late": percentiles(self._late)}
        self._path.write_text(json.dumps(found))


def instrument(ledger: Ledger) -> None:
    """Have everything timed, in this process and for good."""
    run = events.Handle._run

    def timed_run(handle: events.Handle) -> None:
        ledger.begin("frontier" if _is_frontiers(handle) else "other")
        try:
            run(handle)
        finally:
            ledger.end()
            ledger.close()

    events.Handle._run = timed_run  # type: ignore[method-assign]
    gc.callbacks.append(ledger.collector)
    for kind, names in ((TwoLevelScheduler, _SCHEDULER), (CachedDupeFilter, _DUPEFILTER)):
        for name in names:
            setattr(kind, name, _timed(getattr(kind, name), "frontier", ledger))
    TwoLevelScheduler.enqueue_links = _with_links_at_hand(TwoLevelScheduler.enqueue_links, ledger)  # type: ignore[method-assign]
    parsed.parse_page = _timed(parsed.parse_page, "parsing", ledger)
    relevance.TopicRelevanceMiddleware._score = _timed(relevance.TopicRelevanceMiddleware._score, "parsing", ledger)  # type: ignore[method-assign]
    DatabasePipeline.commit = _timed(DatabasePipeline.commit, "storing", ledger)  # type: ignore[method-assign]
    PagesPipeline._write = _timed(PagesPipeline._write, "storing", ledger)  # type: ignore[method-assign]


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The nearest value at or above each rank; 0 of nothing."""
    ordered = sorted(values) or [0.0]
    last = len(ordered) - 1
    return {name: round(ordered[min(last, int(rank * len(ordered)))], 4) for name, rank in PERCENTILES.items()}


def _timed(function: Callable[..., Any], account: str, ledger: Ledger) -> Callable[..., Any]:
    named = frozenset(inspect.signature(function).parameters)

    @functools.wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        if not named.issuperset(kwargs):  # to what takes anything, signals tell everything
            kwargs = {name: value for name, value in kwargs.items() if name in named}
        # A thread beside the loop holds nobody up, and its clock is another one; before the loop runs there is nobody.
        if threading.current_thread() is not threading.main_thread() or not ledger.busy:
            return function(*args, **kwargs)
        ledger.begin(account)
        try:
            return function(*args, **kwargs)
        finally:
            ledger.end()

    return timed


def _with_links_at_hand(enqueue_links: Callable[..., int], ledger: Ledger) -> Callable[..., int]:
    """The links come from a generator that predicts their quality on the way: that is not the scheduler's time."""
    collect = _timed(lambda links: list(links), "parsing", ledger)

    @functools.wraps(enqueue_links)
    def with_list(scheduler: Any, links: Any, **kwargs: Any) -> int:
        return enqueue_links(scheduler, collect(links), **kwargs)

    return with_list


def _is_frontiers(handle: events.Handle) -> bool:
    """Whether the callback is a step of the courier's task, or asyncio's own transport at work: only Redis's client uses that."""
    callback = handle._callback  # type: ignore[attr-defined]
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        coroutine = owner.get_coro()
        frame = coroutine.cr_frame if inspect.iscoroutine(coroutine) else None
        return frame is not None and isinstance(frame.f_locals.get("self"), Courier)
    return isinstance(owner, asyncio.Transport)
