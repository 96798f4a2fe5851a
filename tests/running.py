"""Runs a test spider as a process of its own, with the project's settings: real Scrapy, real Redis, real signals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
HURRY = {"CRAWL_DELAY": 0, "CRAWL_DELAY_FACTOR": 0, "FRONTIER_FLUSH_SECONDS": 0.03, "RETRY_TIMES": 1}

RUN = """
import json, sys
from scrapy.crawler import CrawlerProcess
from scrapy.settings import Settings
from scrapy.utils.misc import load_object
settings = Settings()
settings.setmodule("settings.base")
for name, value in json.loads(sys.argv[2]).items():
    settings.set(name, value, priority="cmdline")
settings.set("SPIDER_MODULES", [])
process = CrawlerProcess(settings)
crawler = process.create_crawler(load_object(sys.argv[1]))
process.crawl(crawler)
process.start()
with open("stats.json", "w") as out:
    json.dump(crawler.stats.get_stats(), out, default=str)
"""


def start(spider: str, folder: Path, settings: dict[str, Any]) -> subprocess.Popen[str]:
    """Begin a crawl in `folder`; its log goes to ``crawl.log`` there."""
    with (folder / "crawl.log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-c", RUN, spider, json.dumps(settings)],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(PROJECT)},
            stdout=log,
            stderr=log,
            text=True,
        )


def crawl(spider: str, folder: Path, settings: dict[str, Any], seconds: float = 60) -> dict[str, Any]:
    """Crawl to the end; Scrapy's stats."""
    process = start(spider, folder, settings)
    try:
        process.wait(seconds)
    finally:
        process.kill()
    stats = folder / "stats.json"
    assert stats.exists(), log_of(folder)
    return json.loads(stats.read_text())


def seen(folder: Path) -> list[dict[str, Any]]:
    """What the spider said, page by page."""
    path = folder / "seen.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def log_of(folder: Path) -> str:
    """The log of all crawls in the folder."""
    return (folder / "crawl.log").read_text()
