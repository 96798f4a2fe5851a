"""What the crawler is compared with: plain Scrapy, Scrapy over scrapy-redis, and Scrapy that only downloads. Settings and spiders in one module.

A folder whose ``scrapy.cfg`` names this module as its settings is a Scrapy project with these spiders:

- ``links``: the CrawlSpider of Scrapy's documentation. Every link that LinkExtractor finds becomes a request, every page an item of its URL and title,
  written by Scrapy's own feed export. Its scheduler is Scrapy's, in memory, or scrapy-redis', as the benchmark sets it. It does less than a topic crawl: no
  text, no language, no relevance, no record of fetches.
- ``fetch_only``: downloads the URLs of a file and looks at none: what is left to be gained by any crawler on Scrapy's downloader.

Beyond that all is left as Scrapy has it, but for what would make it slower than it need be: no cookies, no telnet console, a log without a line per page.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

BOT_NAME = "plain"
SPIDER_MODULES = [__name__]
COOKIES_ENABLED = False
TELNETCONSOLE_ENABLED = False
LOG_LEVEL = "INFO"
EXTENSIONS = {
    "tests.benchmarks.meter.Meter": 1,
    "scrapy.extensions.telnet.TelnetConsole": None,
    "scrapy.extensions.remote_control.RemoteControl": None,
}
SCRAPY_REDIS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PERSIST": True,
}
"""What its manual says to set."""


class LinksSpider(CrawlSpider):
    """Follows everything."""

    name = "links"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)
    custom_settings = {"FEEDS": {"pages.jsonl": {"format": "jsonlines"}}}  # noqa: RUF012 - as Scrapy has it

    async def start(self) -> AsyncIterator[Any]:
        for url in self.settings["SEEDS"].split():
            yield Request(url)

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("title::text").get()}


class FetchOnlySpider(Spider):
    """Downloads what it is told to."""

    name = "fetch_only"

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> FetchOnlySpider:
        urls = Path(crawler.settings["URLS_FILE"]).read_text().split()
        return super().from_crawler(crawler, *args, urls=urls, **kwargs)

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            # A slot for each port, as for each host: that is a server.
            yield Request(url, dont_filter=True, meta={"download_slot": url.split("/", 3)[2]})

    def parse(self, response: Response) -> None:
        """Nothing."""
