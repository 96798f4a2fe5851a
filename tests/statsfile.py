"""A stats collector that leaves Scrapy's counts in ``stats.json``, for tests that run the command: ``-s STATS_CLASS=tests.statsfile.StatsToFile``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scrapy.statscollectors import MemoryStatsCollector


class StatsToFile(MemoryStatsCollector):
    """Scrapy's own, written down at the end."""

    def close_spider(self, *args: Any, **kwargs: Any) -> None:
        """Called by Scrapy as the last thing of a crawl."""
        super().close_spider(*args, **kwargs)
        Path("stats.json").write_text(json.dumps(self.get_stats(), default=str))
