"""The crawl in numbers, as the live panel and the summary show them, read from Scrapy's stats.

The scheduler, the seen cache and the relevance middleware set ``frontier/…``, ``seen/…`` and ``topic/…``; a stat that nobody set
counts as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Stats = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figures:
    """What this process has done since its start, and the frontier as it stood a moment ago."""

    pages: int
    """Pages scored."""
    relevant: int
    relevance_sum: float
    queued: int
    open_servers: int
    servers: int
    urls_discovered: int
    urls_duplicate: int
    cache_hit_rate: float
    """Links that ended in the seen cache, of those looked up there; 0 to 1."""
    redis_round_trips: int
    bytes_downloaded: int
    """On the wire, headers included."""

    @property
    def harvest_rate(self) -> float:
        """Relevant pages of those scored; 0 to 1."""
        return self.relevant / self.pages if self.pages else 0.0

    @classmethod
    def read(cls, stats: Stats) -> Figures:
        """The figures of this moment."""

        def count(key: str) -> int:
            return int(stats.get(key, 0))

        lookups = count("seen/lookups")
        return cls(
            pages=count("topic/pages"),
            relevant=count("topic/relevant"),
            relevance_sum=float(stats.get("topic/relevance_sum", 0.0)),
            queued=count("frontier/queued"),
            open_servers=count("frontier/open_servers"),
            servers=count("frontier/servers"),
            urls_discovered=count("frontier/urls_discovered"),
            urls_duplicate=count("frontier/urls_duplicate"),
            cache_hit_rate=count("seen/hits") / lookups if lookups else 0.0,
            redis_round_trips=count("frontier/redis_round_trips"),
            bytes_downloaded=count("downloader/response_bytes"),
        )


def errors(stats: Stats) -> dict[str, Any]:
    """What went wrong, by kind: ``download`` (no response, by exception, each attempt), ``http`` (by status, 400 and above, each
    attempt), ``spider`` (callbacks, by exception), and their ``total``; ``logged`` counts log lines of level ERROR and above.

    What robots.txt forbids, and a server without a robots.txt, are no errors.
    """
    download = _group(stats, "downloader/exception_type_count/", lambda key: key.rpartition(".")[2])
    download.pop("IgnoreRequest", None)
    robots = _group(stats, "robotstxt/response_status_count/", str)
    statuses = _group(stats, "downloader/response_status_count/", str)
    http = {
        status: count - robots.get(status, 0)
        for status, count in statuses.items()
        if status >= "400" and count > robots.get(status, 0)
    }
    spider = _group(stats, "spider_exceptions/", str)
    spider.pop("count", None)
    return {
        "total": sum(sum(group.values()) for group in (download, http, spider)),
        "download": download,
        "http": http,
        "spider": spider,
        "logged": int(stats.get("log_count/ERROR", 0)) + int(stats.get("log_count/CRITICAL", 0)),
    }


def _group(stats: Stats, prefix: str, name: Any) -> dict[str, int]:
    """The stats below a prefix, added up by what `name` makes of the rest of their key."""
    group: dict[str, int] = {}
    for key in sorted(key for key in stats if key.startswith(prefix)):
        short = name(key.removeprefix(prefix))
        group[short] = group.get(short, 0) + int(stats[key])
    return group


def clock(seconds: float) -> str:
    """Elapsed time as people read it: 1:02:03."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
