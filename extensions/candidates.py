"""What is found becomes a candidate for the frontier, unless the seen cache ends it first: requests one by one, the links of a page together.

Most links end at the first look-up, before anything is made of them. What a plain GET needs to travel is its canonical URL; any other request is
*opaque*: it carries itself, under a member that no URL can have.
"""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING

from scrapy import Request

from extensions.errors import UnserialisableRequest
from extensions.fingerprint import CanonicalFingerprinter
from extensions.frontier.records import Candidate
from extensions.serialise import payload_of
from extensions.topicmeta import TopicMeta
from extensions.urls import fingerprint, split_server

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Spider
    from scrapy.statscollectors import StatsCollector
    from scrapy.utils.request import RequestFingerprinterProtocol

    from extensions.dupefilter import CachedDupeFilter
    from extensions.seen import SeenLayout

logger = logging.getLogger(__name__)


class Candidates:
    """Makes them for one crawler. `spider` must be set before the first."""

    spider: Spider

    def __init__(
        self,
        dupefilter: CachedDupeFilter,
        fingerprinter: RequestFingerprinterProtocol,
        layout: SeenLayout,
        stats: StatsCollector,
    ) -> None:
        self._dupefilter = dupefilter
        self._fingerprinter = fingerprinter
        self._layout = layout
        self._stats = stats

    def of_request(self, request: Request) -> Candidate | None:
        """None for a known duplicate and for what cannot be queued."""
        canonical = self._dupefilter.canonicalise(request.url)
        if canonical is None:
            self._stats.inc_value("frontier/uncrawlable")
            logger.warning("Not crawlable: %.200s", request)
            return None
        topic = TopicMeta.of(request)
        plain_get = request.method == "GET" and not request.body
        if not request.dont_filter and plain_get and not self._dupefilter.filter.is_news(canonical, topic.quality):
            self._dupefilter.log(request, self.spider)
            self._stats.inc_value("frontier/urls_duplicate")
            return None
        server, member = split_server(canonical)
        digest = self._fingerprinter.fingerprint(request)
        opaque = request.dont_filter or not plain_get or digest != fingerprint(server, member)
        if opaque:
            member = "\0" + (uuid.uuid4().hex if request.dont_filter else digest.hex())
        try:
            payload = payload_of(request, self.spider, opaque=opaque)
        except UnserialisableRequest as error:
            self._stats.inc_value("frontier/unserialisable")
            logger.error("%s", error)
            return None
        depth = max(0, int(request.meta.get("depth", 0)))
        place = self._layout.place(digest)
        return Candidate(server, member, *place, topic.quality, depth, topic.hops, request.dont_filter, payload)

    def of_links(self, links: Iterable[tuple[str, float]], *, depth: int, hops: int, referrer: str) -> list[Candidate]:
        """Those of a page's links, (raw absolute URL, quality) each, that are not known. The same as `of_request` for plain GETs, without a request for each."""
        is_news = self._dupefilter.filter.is_news
        canonicalise = self._dupefilter.canonicalise
        usual = isinstance(self._fingerprinter, CanonicalFingerprinter)
        payload: bytes | None = None
        found = []
        total = uncrawlable = 0
        for url, quality in links:
            total += 1
            if not is_news(url, quality):
                continue
            canonical = canonicalise(url)
            if canonical is None:
                uncrawlable += 1
                continue
            if canonical != url and not is_news(canonical, quality):
                continue
            server, member = split_server(canonical)
            digest = fingerprint(server, member) if usual else self._fingerprinter.fingerprint(Request(canonical))
            if payload is None:  # what all links of a page have in common
                payload = self._payload(canonical, TopicMeta(quality, hops, referrer))
            found.append(Candidate(server, member, *self._layout.place(digest), quality, depth, hops, payload=payload))
        self._stats.inc_value("frontier/urls_duplicate", total - len(found) - uncrawlable)
        if uncrawlable:
            self._stats.inc_value("frontier/uncrawlable", uncrawlable)
        return found

    def _payload(self, url: str, topic: TopicMeta) -> bytes:
        request = Request(url)
        topic.put(request.meta)
        return payload_of(request, self.spider, opaque=False)
