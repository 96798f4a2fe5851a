"""A small site and a small spider, for crawls in processes of their own that may be killed.

``python -m tests.topicspider.crawling '{"url": …, "output": …, "paths": […]}'`` crawls a `site` with Scrapy's own scheduler; a looping
call stands in for ours and sends `settling` ten times a second.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import scrapy
from scrapy import signals as scrapy_signals
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import CloseSpider
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.asyncio import create_looping_call

from extensions import signals
from extensions.errors import OutputError
from topicspider.items import PageItem

ROOT = Path(__file__).parents[2]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    delay_seconds = 0.0

    def do_GET(self):
        time.sleep(self.delay_seconds)
        kind, _, number = self.path.strip("/").partition("/")
        status, headers, body = 200, {"Content-Type": "text/html; charset=utf-8"}, b""
        if kind == "page":
            body = f"<title>Seite {number} 页</title><p>{'Wörter ' * 300}</p>".encode()
        elif kind == "old":
            status, headers = 301, {"Location": f"/page/{number}"}
        elif kind == "image":
            headers, body = {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n\0\0"
        elif kind == "hangup":
            self.close_connection = True
            return
        else:
            status, body = 404, b"<p>nothing</p>"
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that was killed is what these tests are about."""


@contextmanager
def site(delay_seconds=0.0):
    """Serve the site on the loopback interface; gives its URL."""
    handler = type("Handler", (Handler,), {"delay_seconds": delay_seconds})
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class SmallSpider(scrapy.Spider):
    """Every page with an even number is on topic; odd ones are scored and dropped."""

    name = "small"
    stopped = False

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.item_failed, scrapy_signals.item_error)
        crawler.signals.connect(spider.begin, scrapy_signals.spider_opened)
        return spider

    def begin(self):
        self.settler = create_looping_call(self.settle)
        self.settler.start(0.1)

    def settle(self):
        for _, result in self.crawler.signals.send_catch_log(signals.settling, dont_log=OutputError):
            if isinstance(getattr(result, "value", None), OutputError):
                self.stop(result.value)

    def item_failed(self, failure):
        if isinstance(failure.value, OutputError):
            self.stop(failure.value)

    def stop(self, error):
        self.logger.critical("STOPPED %s", error)
        self.settler.stop()
        self.stopped = True

    async def start(self):
        for path in self.paths:
            yield scrapy.Request(self.base + path, dont_filter=True, errback=self.failed)

    def failed(self, failure):
        if failure.check(HttpError):
            return
        self.crawler.signals.send_catch_log(
            signals.fetch_failed, request=failure.request, reason=type(failure.value).__name__
        )

    def parse(self, response):
        if self.stopped:
            raise CloseSpider("output_error")
        if response.url.endswith("/page/13") and self.raises:
            raise RuntimeError("thirteen" * 40)
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        number = int(response.url.rpartition("/")[2])
        item = PageItem(
            url=response.url,
            title=response.css("title::text").get(""),
            relevance=2.5 if number % 2 == 0 else 0.5,
            content_length=len(response.body),
            text=response.css("p::text").get(""),
        )
        on_topic = item.relevance > 2
        stats = self.crawler.stats
        stats.inc_value("topic/pages")
        stats.inc_value("topic/relevance_sum", item.relevance)
        self.crawler.signals.send_catch_log(signals.page_scored, response=response, item=item, on_topic=on_topic)
        if on_topic:
            stats.inc_value("topic/relevant")
            yield item
        if self.extra_items and number == 0:
            yield {"plain": "dict"}


def command(url: str, output: Path | str, paths: list[str], **options: Any) -> list[str]:
    """The command line of one crawl."""
    options = {"url": url, "output": str(output), "paths": paths} | options
    return [sys.executable, "-m", "tests.topicspider.crawling", json.dumps(options)]


def crawl(url, output, paths, **options) -> subprocess.CompletedProcess[str]:
    """Run a crawl to its end."""
    return subprocess.run(
        command(url, output, paths, **options), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def even_pages(count: int, first: int = 0) -> list[str]:
    return [f"/page/{number}" for number in range(first, first + 2 * count, 2)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("options", type=json.loads)
    options = parser.parse_args().options
    if limit := options.get("file_size_limit"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    settings = {
        "OUTPUT_DIR": options["output"],
        "ITEM_PIPELINES": {
            "topicspider.pipelines.pages.PagesPipeline": 500,
            "topicspider.pipelines.database.DatabasePipeline": 510,
        },
        "EXTENSIONS": {
            "topicspider.panel.PanelExtension": 500,
            "topicspider.summary.SummaryExtension": 510,
            "scrapy.extensions.logstats.LogStats": None,
            "scrapy.extensions.telnet.TelnetConsole": None,
        },
        "ROBOTSTXT_OBEY": False,
        "RETRY_ENABLED": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "LOG_LEVEL": "INFO",
        **options.get("settings", {}),
    }
    spider = type(
        "Spider",
        (SmallSpider,),
        {
            "base": options["url"],
            "paths": options["paths"],
            "raises": options.get("raises", False),
            "extra_items": options.get("extra_items", False),
        },
    )
    process = CrawlerProcess(settings)
    process.crawl(spider)
    process.start()
    sys.exit(3 if process.bootstrap_failed else 0)


if __name__ == "__main__":
    main()
