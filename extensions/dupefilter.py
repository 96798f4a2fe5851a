"""Duplicate requests end here: a seen cache first, then an exact test. Set it as DUPEFILTER_CLASS.

With Scrapy's own scheduler it works alone: `request_seen` asks the cache with the raw URL, which spares most requests their
fingerprint, and then a set of 8-byte numbers made from fingerprints. With JOBDIR the fingerprints are kept in ``requests.seen``, in the format of
Scrapy's own filter, and a later run goes on from there.

With the project's scheduler the exact test is part of the frontier's *admit*. What the scheduler and the link extraction use then is `filter`
(for links, before a request exists) and `cache_says_seen` (for requests from elsewhere: spiders, redirects). They have a cache each: a link that
has just passed the first must not be taken for a duplicate by the second.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.job import job_dir
from scrapy.utils.request import referer_str

from extensions.config import Config
from extensions.errors import ConfigurationError
from extensions.fingerprint import is_plain_get
from extensions.seen.caches import make_cache
from extensions.seen.filter import SeenFilter
from extensions.seen.layout import url_half
from extensions.urls import Canonicaliser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.utils.request import RequestFingerprinterProtocol

logger = logging.getLogger(__name__)

_LENGTH_BYTES = 2


class CachedDupeFilter(BaseDupeFilter):
    """Tells whether a request was made before. `links` and `requests` are the filters for links and for requests, `folder` is the JOBDIR."""

    def __init__(
        self,
        *,
        fingerprinter: RequestFingerprinterProtocol,
        canonicalise: Canonicaliser,
        links: SeenFilter,
        requests: SeenFilter,
        folder: str | None = None,
        debug: bool = False,
    ) -> None:
        self.fingerprinter = fingerprinter
        self.canonicalise = canonicalise
        self.filter = links
        self.requests = requests
        self.debug = debug
        self._path = Path(folder, "requests.seen") if folder else None
        self._file: BinaryIO | None = None
        self._seen: set[int] = set()
        self._logged = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """With the crawler's fingerprinter, and caches as SEEN_CACHE_POLICY and SEEN_CACHE_SIZE say."""
        if crawler.request_fingerprinter is None:
            raise RuntimeError("The crawler must have its fingerprinter before it gets a duplicate filter")
        config = Config.from_settings(crawler.settings)
        popular = popular_urls(config) if config.seen_cache == "static" else []

        def seen_filter() -> SeenFilter:
            return SeenFilter(make_cache(config.seen_cache, config.seen_cache_size, popular))

        return cls(
            fingerprinter=crawler.request_fingerprinter,
            canonicalise=Canonicaliser(config.drop_parameters),
            links=seen_filter(),
            requests=seen_filter(),
            folder=job_dir(crawler.settings),
            debug=crawler.settings.getbool("DUPEFILTER_DEBUG"),
        )

    def open(self) -> None:
        """Called by Scrapy's scheduler at the start of a crawl: read what an earlier run of the job has seen, and go on writing there."""
        if self._path is None:
            return
        self._file = self._path.open("a+b")
        self._file.seek(0)
        content = self._file.read()
        whole = 0
        for fingerprint in _fingerprints(content):
            self._seen.add(_number(fingerprint))
            whole += _LENGTH_BYTES + len(fingerprint)
        # What a killed run left of its last record would garble all that follow.
        self._file.truncate(whole)

    def close(self, reason: str) -> None:  # noqa: ARG002 - Scrapy's signature
        """Called by Scrapy's scheduler at the end of a crawl."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def request_seen(self, request: Request) -> bool:
        """Called by Scrapy's scheduler for each request without dont_filter: whether it was made before. From now on it was."""
        # No quality is known here, so a URL in the cache is never news again.
        if self.cache_says_seen(request):
            return True
        fingerprint = self.fingerprint(request)
        number = _number(fingerprint)
        if number in self._seen:
            return True
        self._seen.add(number)
        if self._file is not None:
            self._file.write(len(fingerprint).to_bytes(_LENGTH_BYTES, "big") + fingerprint)
        return False

    def cache_says_seen(self, request: Request, quality: float = 0.0) -> bool:
        """Whether a request for this URL came by lately, and none of clearly lesser quality: then it need not go on.

        False says nothing: the exact test must follow. Only for requests that may be filtered; what is not a plain GET is never said to be seen.
        """
        return is_plain_get(request) and not self.requests.is_news(request.url, quality)

    def fingerprint(self, request: Request) -> bytes:
        """The request's fingerprint, by the fingerprinter that the settings name."""
        return self.fingerprinter.fingerprint(request)

    def log(self, request: Request, spider: Spider) -> None:
        """Called by Scrapy's scheduler for each duplicate: the first is logged, and each with DUPEFILTER_DEBUG; all are counted."""
        if self.debug:
            logger.debug(
                "Filtered duplicate request: %(request)s (referer: %(referer)s)",
                {"request": request, "referer": referer_str(request)},
                extra={"spider": spider},
            )
        elif not self._logged:
            self._logged = True
            logger.debug(
                "Filtered duplicate request: %(request)s; further ones are only counted (DUPEFILTER_DEBUG shows them)",
                {"request": request},
                extra={"spider": spider},
            )
        if spider.crawler.stats is not None:
            spider.crawler.stats.inc_value("dupefilter/filtered")


def popular_urls(config: Config) -> list[str]:
    """The URLs for the static cache, the most popular first."""
    if not config.seen_cache_file:
        raise ConfigurationError(
            "SEEN_CACHE_POLICY is static, so SEEN_CACHE_FILE must name a file of URLs, one a line."
        )
    try:
        lines = Path(config.seen_cache_file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"SEEN_CACHE_FILE is {config.seen_cache_file!r}, but must be a readable file of URLs in UTF-8: {error}"
        ) from error
    return [line.strip() for line in lines if line.strip()]


def _fingerprints(content: bytes) -> Iterator[bytes]:
    """The whole records of a seen file: a length in two bytes, the greater first, then as many bytes."""
    start = _LENGTH_BYTES
    while start <= len(content):
        end = start + int.from_bytes(content[start - _LENGTH_BYTES : start], "big")
        if end > len(content):
            return
        yield content[start:end]
        start = end + _LENGTH_BYTES


def _number(fingerprint: bytes) -> int:
    return int.from_bytes(url_half(fingerprint), "big")
