"""A Scrapy extension that says what a crawl cost its process: the same for our crawler and for those it is compared with.

It listens to signals that come once, so it costs nothing per page. With the setting METER_FILE, what it found is written there as JSON when the
engine has stopped:

- ``cpu_seconds``, ``wall_seconds``: from the opened spider to the stopped engine, all threads, closing of files and connections included;
- ``start_cpu_seconds``, ``start_wall_seconds``: from the start of the process to the first request at the downloader;
- ``children_cpu_seconds``: of processes that the crawler had, such as its private Redis;
- ``peak_memory_mb``, ``pages`` (those that were there, robots.txt left out), ``stats``.

With METER_PROFILE the time between the two is profiled by cProfile, and the figures go to that file, for pstats. That makes Python slow, calls of
small functions most of all; what is written in C is timed truly.
"""

from __future__ import annotations

import cProfile
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

STARTED = "METER_STARTED"
"""Environment variable: the instant, in seconds of the epoch, at which the process was started."""


class Meter:
    """Set it as an extension; see the module's docstring."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._path = Path(settings["METER_FILE"])
        self._profile = cProfile.Profile() if settings.get("METER_PROFILE") else None
        self._profile_path = settings.get("METER_PROFILE")
        self._crawler = crawler
        self._cpu = self._wall = 0.0
        self._found: dict[str, Any] = {}
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._first_request, signals.request_reached_downloader)
        crawler.signals.connect(self._stopped, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Meter:
        """Only where METER_FILE says where to."""
        if not crawler.settings.get("METER_FILE"):
            raise NotConfigured
        return cls(crawler)

    def _opened(self) -> None:
        self._cpu, self._wall = time.process_time(), time.monotonic()
        if self._profile is not None:
            self._profile.enable()

    def _first_request(self) -> None:
        self._crawler.signals.disconnect(self._first_request, signals.request_reached_downloader)
        self._found["start_cpu_seconds"] = time.process_time()
        self._found["start_wall_seconds"] = time.time() - float(os.environ.get(STARTED, "nan"))

    def _stopped(self) -> None:
        if self._profile is not None:
            self._profile.disable()
            self._profile.dump_stats(self._profile_path)
        self._found["cpu_seconds"] = time.process_time() - self._cpu
        self._found["wall_seconds"] = time.monotonic() - self._wall
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._found["children_cpu_seconds"] = children.ru_utime + children.ru_stime
        self._found["peak_memory_mb"] = _peak_memory_mb()
        assert self._crawler.stats is not None
        stats = self._crawler.stats.get_stats()
        self._found["stats"] = {name: value for name, value in stats.items() if isinstance(value, (int, float))}
        answered, robots = "downloader/response_status_count/200", "robotstxt/response_status_count/200"
        self._found["pages"] = stats.get(answered, 0) - stats.get(robots, 0)
        self._path.write_text(json.dumps(self._found))


def _peak_memory_mb() -> float:
    """Of this process alone: on Linux ru_maxrss begins at what the process that started this one had."""
    if (status := Path("/proc/self/status")).exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
