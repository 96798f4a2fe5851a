"""One crawl by one crawler, as a process of its own in an empty folder, and what it cost.

crawl = Crawl(web_folder, seeds=[…], urls=[…], topic="honey, hive", pages=500)
measured = crawl.run("ours")                       # or scrapy, scrapy_redis, fetch_only
measured.pages / measured.cpu_seconds              # pages a second per core

All get the same: concurrency, one request at a time per server without a delay, robots.txt obeyed or not, a web of their own that has
read nothing yet. Ours and scrapy-redis have a Redis each that is started for the crawl alone: the same binary with the same options, append-only file
included, on a Unix socket.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extensions.frontier.embedded import EmbeddedRedis
from settings import base
from tests.benchmarks import plainscrapy
from tests.benchmarks.meter import STARTED
from tests.localweb.web import PROJECT, LocalWeb

if TYPE_CHECKING:
    from collections.abc import Sequence

CRAWLERS = ("ours", "scrapy", "scrapy_redis", "fetch_only")
METER = "tests.benchmarks.meter.Meter"
METER_FILE = "meter.json"
ROBOTS = "/robots.txt"
LONGEST_SECONDS = 1800.0


@dataclass(frozen=True)
class Measured:
    """What a crawl did, and what that took. Seconds of CPU are of the crawler's process, unless it says otherwise."""

    crawler: str
    pages: int
    cpu_seconds: float
    wall_seconds: float
    start_cpu_seconds: float
    start_wall_seconds: float
    redis_cpu_seconds: float
    web_cpu_seconds: float
    peak_memory_mb: float
    connections: int
    bytes: int
    requests: int
    """That the web answered, robots.txt included."""
    stats: dict[str, float]
    answered: list[str]
    """URLs whose pages the web gave, in that order, without their schemes."""

    @property
    def redis_round_trips(self) -> float:
        """As our crawler counts them; of the others nobody does."""
        return self.stats.get("frontier/redis_round_trips", 0)


@dataclass(frozen=True)
class Crawl:
    """The work that all crawlers are given."""

    web: Path
    seeds: list[str]
    urls: list[str]
    """For the crawler that only downloads."""
    topic: str
    pages: int
    """After which a crawl ends."""
    concurrency: int = 16
    robots: bool = True
    tables: Path | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """More of them, for our crawler."""

    def run(self, crawler: str, *, profile: Path | None = None) -> Measured:
        """Crawl once. Raises `RuntimeError`, with the end of its log, for a crawl that failed."""
        with (
            tempfile.TemporaryDirectory(prefix="crawl-") as name,
            LocalWeb(self.web, tables=self.tables) as web,
        ):
            folder = Path(name)
            (folder / "seeds.txt").write_text("\n".join(self.seeds) + "\n")
            (folder / "urls.txt").write_text("\n".join(self.urls) + "\n")
            redis = EmbeddedRedis(folder / "redis") if crawler == "scrapy_redis" else None
            if redis is not None:
                redis.start()
            try:
                settings = web.settings() | self._common() | self._own(crawler, redis)
                settings |= {"METER_PROFILE": str(profile)} if profile else {}
                found = self._process(folder, crawler, settings)
            finally:
                redis_cpu = _cpu_of(redis.stop) if redis is not None else 0.0
            web_cpu = _cpu_of(web.stop)
            log = web.access_log()
        return Measured(
            crawler=crawler,
            pages=found["pages"],
            redis_cpu_seconds=redis_cpu + found["children_cpu_seconds"],
            web_cpu_seconds=web_cpu,
            connections=len({one["connection"] for one in log}),
            bytes=sum(one["bytes"] for one in log),
            requests=len(log),
            stats=found["stats"],
            answered=[one["host"] + one["path"] for one in log if one["status"] == 200 and one["path"] != ROBOTS],
            **{
                name: found[name]
                for name in (
                    "cpu_seconds",
                    "wall_seconds",
                    "start_cpu_seconds",
                    "start_wall_seconds",
                    "peak_memory_mb",
                )
            },
        )

    def _common(self) -> dict[str, Any]:
        return {
            "CONCURRENT_REQUESTS": self.concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": self.robots,
            "METER_FILE": METER_FILE,
            "LOG_LEVEL": "INFO",
        }

    def _own(self, crawler: str, redis: EmbeddedRedis | None) -> dict[str, Any]:
        if crawler == "ours":
            return {
                "CRAWL_MAX_PAGES": self.pages,
                "CRAWL_DELAY": 0,
                "CRAWL_DELAY_FACTOR": 0,
                "FRONTIER_CRAWL": "measured",
                "OUTPUT_DIR": "out",
                "TOPIC_TUNNEL": 15,
                "EXTENSIONS": json.dumps(base.EXTENSIONS | {METER: 1}),
                **self.settings,
            }
        found: dict[str, Any] = {"CLOSESPIDER_ITEMCOUNT": self.pages, "SEEDS": " ".join(self.seeds)}
        if crawler == "fetch_only":
            found = {"URLS_FILE": "urls.txt"}
        if redis is not None:
            found |= plainscrapy.SCRAPY_REDIS | {"REDIS_URL": redis.url}
        return found

    def _process(self, folder: Path, crawler: str, settings: dict[str, Any]) -> dict[str, Any]:
        if crawler == "ours":
            arguments = ("-a", f"topic={self.topic}", "-a", "seeds=@seeds.txt")
            return scrapy_process(folder, "settings.base", "topic", settings, arguments)
        spider = "fetch_only" if crawler == "fetch_only" else "links"
        return scrapy_process(folder, plainscrapy.__name__, spider, settings)


def scrapy_process(
    folder: Path, module: str, spider: str, settings: dict[str, Any], arguments: Sequence[str] = ()
) -> dict[str, Any]:
    """One ``scrapy crawl`` in that folder with those settings on top of a module's; what the `Meter` found. Raises as `Crawl.run`."""
    (folder / "scrapy.cfg").write_text(f"[settings]\ndefault = {module}\n")
    command = [sys.executable, "-m", "scrapy", "crawl", spider, *arguments]
    command += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    log = folder / "crawl.log"
    path = os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH"))))
    with log.open("wb") as output:
        status = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path, STARTED: str(time.time())},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=LONGEST_SECONDS,
            check=False,
        ).returncode
    if status or not (folder / METER_FILE).exists():
        raise RuntimeError(f"The crawl by {spider} failed:\n{log.read_text(errors='replace')[-5000:]}")
    found: dict[str, Any] = json.loads((folder / METER_FILE).read_text())
    return found


def _cpu_of(stop: Any) -> float:
    """CPU seconds of the one process that `stop` ends and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
