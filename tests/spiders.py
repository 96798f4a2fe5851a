"""Spiders for tests of the adapters. They write one JSON line per page to ``seen.jsonl`` in the working folder."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import scrapy


class Walker(scrapy.Spider):
    """Follows every link; says what it got."""

    name = "walker"
    start_at: tuple[str, ...] = ("http://a.test/",)

    async def start(self):
        for url in self.settings.getlist("WALK_FROM") or self.start_at:
            yield scrapy.Request(url)

    def parse(self, response, **kwargs):
        self.say(response, **kwargs)
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)

    def say(self, response, **more):
        with Path("seen.jsonl").open("a") as out:
            out.write(json.dumps({"url": response.url, "depth": response.meta.get("depth"), **more}) + "\n")


class Carrier(Walker):
    """Makes requests that are more than a URL."""

    name = "carrier"

    async def start(self):
        yield scrapy.Request("http://a.test/", callback=self.first)

    def first(self, response):
        self.say(response, callback="first")
        yield scrapy.FormRequest("http://a.test/form", formdata={"x": "1"}, callback=self.posted)
        yield response.follow(
            "/more",
            callback=self.more,
            errback=self.failed,
            cb_kwargs={"pair": ("a", 1), "words": {"x"}},
            meta={"campaign": {"deep": [1, 2]}, 7: "seven"},
            headers={"X-Test": "yes"},
            flags=["kept"],
        )
        yield response.follow("/missing", callback=self.more, errback=self.failed)
        yield response.follow("/", callback=self.again, dont_filter=True)
        yield response.follow("/lock", cb_kwargs={"lock": threading.Lock()})
        yield response.follow("/foreign", callback=print)
        yield response.follow("/moved")

    def posted(self, response):
        self.say(response, callback="posted", method=response.request.method, body=response.request.body.decode())

    def more(self, response, pair, words):
        self.say(
            response,
            callback="more",
            pair=repr(pair),
            words=repr(words),
            meta=response.meta["campaign"],
            seven=response.meta[7],
            header=response.request.headers["X-Test"].decode(),
            flags=response.request.flags,
        )

    def again(self, response):
        self.say(response, callback="again")

    def failed(self, failure):
        with Path("seen.jsonl").open("a") as out:
            out.write(json.dumps({"url": failure.request.url, "callback": "failed"}) + "\n")


class Storer(Walker):
    """Yields an item per page, for pipelines."""

    name = "storer"

    def parse(self, response, **kwargs):
        yield {"url": response.url}
        yield from super().parse(response, **kwargs)
