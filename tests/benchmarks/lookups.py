"""What it costs to be told that a URL is known, by each cache and by what others use."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.request import RequestFingerprinter
from scrapy.utils.test import get_crawler

from extensions.seen import SeenFilter, make_cache
from tests.benchmarks.rounds import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def lookup_ns(urls: Sequence[str], rounds: int, policies: Sequence[str]) -> dict[str, float]:
    """Name → median nanoseconds of a hit. Every URL is a new string each time, as on a page, so its hash is computed anew.

    ``filter`` is what the extraction of links calls (`SeenFilter.is_news`, with the clock); the names of policies are the caches' `get` alone. ``loop`` is what calling costs anyway, and is part of all the others. Scrapy's filter
    is measured with a new `Request` for each URL, and with the making of that `Request` (``scrapy_with_request``).
    """
    calls: dict[str, Callable[[Any], Any]] = {}
    for policy in policies:
        cache = make_cache(policy, len(urls), urls)
        for url in urls:
            cache.put(url, 0.5)
        calls[policy] = cache.get
    news = SeenFilter(make_cache("clock", len(urls)))
    calls["dict"] = dict.fromkeys(urls, 0.5).get
    calls["functools.lru_cache"] = lru_cache(len(urls))(_quality_of)
    crawler = get_crawler()
    scrapy = RFPDupeFilter(fingerprinter=RequestFingerprinter(crawler))
    for url in urls:
        news.is_news(url, 0.5)
        calls["functools.lru_cache"](url)
        scrapy.request_seen(Request(url))
    rivals = {name: partial(_prepared, call, urls) for name, call in calls.items()}
    rivals["filter"] = partial(_prepared_filter, news, urls)
    rivals["loop"] = partial(_prepared, bool, urls)
    rivals["scrapy"] = partial(_prepared, scrapy.request_seen, urls, Request)
    rivals["scrapy_with_request"] = partial(_prepared, lambda url: scrapy.request_seen(Request(url)), urls)
    return {name: cost.seconds * 1e9 for name, cost in measure(rivals, rounds).items()}


def _quality_of(url: str) -> float:
    return 0.5


def _prepared(call: Callable[[Any], Any], urls: Sequence[str], made: Callable[[str], Any] = str) -> Callable[[], int]:
    things = [made(_anew(url)) for url in urls]

    def job() -> int:
        for thing in things:
            call(thing)
        return len(things)

    return job


def _prepared_filter(news: SeenFilter, urls: Sequence[str]) -> Callable[[], int]:
    things = [_anew(url) for url in urls]

    def job() -> int:
        is_news = news.is_news
        for thing in things:
            is_news(thing, 0.5)
        return len(things)

    return job


def _anew(url: str) -> str:
    """The same characters in another string, whose hash is not known yet."""
    return url[:9] + url[9:]
