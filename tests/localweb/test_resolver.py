"""A real Scrapy crawl through the resolver, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.localweb.web import PROJECT, LocalWeb, write_site

if TYPE_CHECKING:
    from pathlib import Path

SPIDER = """
import scrapy

class Follow(scrapy.Spider):
    name = "follow"
    start_urls = ["http://docs.python.org/"]
    custom_settings = {"RETRY_ENABLED": False, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "TELNETCONSOLE_ENABLED": False}

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        for link in response.css("a"):
            yield response.follow(link, errback=self.failed)

    def failed(self, failure):
        yield {"url": failure.request.url, "error": failure.type.__name__}
"""

PAGES = {
    "docs.python.org": {
        "/": '<title>home</title><a href="https://docs.python.org/3/">https</a> <a href="http://docs.python.org:8080/x.html">8080</a>'
        '<a href="https://b.test/3/">b</a> <a href="http://gone.test/">gone</a> <a href="http://unknown.test/">unknown</a>',
        "/3/": "<title>three</title>",
        "/x.html": '<title>x</title><a href="http://xn--bcher-kva.test/">IDN</a>',
    },
    "b.test": {"/3/": "<title>b</title>"},
    "xn--bcher-kva.test": {"/": "<title>idn</title>"},
}


def test_crawl_keeps_true_urls_over_http_https_and_odd_ports(tmp_path: Path) -> None:
    for host, pages in PAGES.items():
        write_site(tmp_path / "web", host, pages)
    (tmp_path / "follow.py").write_text(SPIDER)
    with LocalWeb(tmp_path / "web", unresolvable=["gone.test"]) as web:
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", "runspider", "follow.py", "-O", "items.json", *web.command_line()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        log = web.access_log()
    items = {
        item["url"]: item.get("title") or item["error"] for item in json.loads((tmp_path / "items.json").read_text())
    }
    assert items == {
        "http://docs.python.org/": "home",
        "https://docs.python.org/3/": "three",
        "http://docs.python.org:8080/x.html": "x",
        "https://b.test/3/": "b",
        "http://gone.test/": "CannotResolveHostError",
        "http://unknown.test/": "HttpError",
        "http://xn--bcher-kva.test/": "idn",
    }
    servers = {(r["scheme"], r["host"], r["port"]) for r in log}
    assert ("https", "docs.python.org", 443) in servers
    assert ("http", "docs.python.org", 8080) in servers
    assert {r["open_connections_of_host"] for r in log} == {1}
    assert "WARNING" not in done.stderr, done.stderr
