"""Two frontiers on one Redis under the same load, each as its users pay for it: ours, and scrapy-redis.

What is counted on both sides is the way from a raw link (a URL in a `str`, with its quality, depth and referrer) to Redis, and from Redis to a `Request`
that could be downloaded:

- ours: canonical URL, fingerprint, `Candidate`, one payload a page with the referrer (as the scheduler's `enqueue_links` does, without its cache of seen URLs), and
  the script; back: the lease, its decoding, a `Request` for each URL, and the settlement of all of them with the release of the server.
- scrapy-redis: a `Request` with depth and Referer, and `Scheduler.enqueue_request` with its `RFPDupeFilter` and `PriorityQueue`; back: `next_request`.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis
from scrapy import Request, Spider
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler
from scrapy_redis.scheduler import Scheduler

from extensions.config import Config
from extensions.frontier.allotment import Ask
from extensions.frontier.records import Candidate, Settlement
from extensions.frontier.redis import RedisFrontier
from extensions.seen import SeenLayout
from extensions.serialise import payload_of, request_of
from extensions.topicmeta import TopicMeta
from extensions.urls import Canonicaliser, fingerprint, split_server

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence

    from extensions.frontier.records import Admission, Lease
    from tests.benchmarks.links import Page

LEASE_MS = 3_600_000
OPEN_SERVERS = 64
"""How many a crawl leases at once at most, by default."""
BULK = 2000
"""Candidates in a call when a queue is filled."""
_crawls = itertools.count()


class Ours:
    """A crawl's frontier with the default rules and partitions, called synchronously. Close it."""

    def __init__(
        self, url: str, expected_urls: int = 1_000_000, *, referrers: bool = True, crawl_delay: float | None = None
    ) -> None:
        settings: dict[str, Any] = {"FRONTIER_CRAWL": "benchmark"}
        if crawl_delay is not None:
            settings["CRAWL_DELAY"] = crawl_delay
        config = Config.from_settings(Settings(settings))
        self.partitions = config.partitions
        self.name = f"benchmark{next(_crawls)}"
        self.layout = SeenLayout.for_expected(expected_urls, self.partitions)
        self.canonicalise = Canonicaliser(config.drop_parameters)
        self.spider = Spider(name="benchmark")
        self.referrers = referrers
        self._loop = asyncio.new_event_loop()
        self._client = Redis.from_url(url)
        self.frontier = RedisFrontier(self._client, self.name, config.rules(max_depth=0), self.partitions)

    def close(self) -> None:
        self._run(self._client.aclose())
        self._loop.close()

    def clear(self) -> None:
        """Forget the crawl."""
        self._run(self.frontier.clear())

    def candidates(self, pages: Iterable[Page]) -> list[Candidate]:
        """Each link on its way to the frontier."""
        found = []
        for page in pages:
            payload = self._payload(page) if self.referrers else b""
            for url, quality in page.links:
                canonical = self.canonicalise(url)
                assert canonical is not None
                server, member = split_server(canonical)
                bucket, remainder = self.layout.place(fingerprint(server, member))
                found.append(Candidate(server, member, bucket, remainder, quality, page.depth, 0, payload=payload))
        return found

    def admit_pages(self, pages: Sequence[Page]) -> int:
        """From raw links to Redis; how many links."""
        return self.admit(self.candidates(pages))

    def admit_batches(self, batches: Iterable[Sequence[Page]]) -> int:
        """The same, a call for each batch."""
        return sum(self.admit_pages(pages) for pages in batches)

    def admit(self, candidates: Sequence[Candidate]) -> int:
        """The verb alone; how many candidates."""
        self.admission(candidates)
        return len(candidates)

    def admission(self, candidates: Sequence[Candidate]) -> Admission:
        """What became of them."""
        return self._run(self.frontier.admit(_now_ms(), candidates))

    def fill(self, pages: Iterable[Page], urls: int) -> int:
        """Queue at least so many, in large batches; how many links that took."""
        links = 0
        batch: list[Candidate] = []
        for page in pages:
            batch += self.candidates([page])
            if len(batch) >= BULK or links + len(batch) >= urls:
                links += self.admit(batch)
                batch = []
            if links >= urls:
                break
        return links

    def lease(self, servers: int = OPEN_SERVERS) -> list[Lease]:
        """The best servers, about the same number from each partition."""
        share, rest = divmod(servers, self.partitions)
        asks = [Ask(partition, share + (partition < rest)) for partition in range(self.partitions)]
        return list(self._exchange((), [ask for ask in asks if ask.servers]).leases)

    def settle(self, leases: Sequence[Lease]) -> None:
        """All of their URLs are done, and the servers are free."""
        now = _now_ms()
        settlements = [
            Settlement(
                one.server,
                one.token,
                tuple(url.member for url in one.urls),
                len(one.urls),
                response_ms=tuple(300.0 for _ in one.urls),
                delay_ms=one.delay_ms,
                due_ms=now,
                release=True,
            )
            for one in leases
        ]
        assert all(self._exchange(settlements, ()).accepted)

    def lease_and_settle(self, servers: int = OPEN_SERVERS) -> int:
        """Both verbs; how many URLs."""
        leases = self.lease(servers)
        self.settle(leases)
        return sum(len(one.urls) for one in leases)

    def requests_and_settle(self, servers: int = OPEN_SERVERS) -> int:
        """Both verbs, with a request for each URL between them; how many."""
        leases = self.lease(servers)
        requests = [request_of(one.server, url, self.spider) for one in leases for url in one.urls]
        self.settle(leases)
        return len(requests)

    def urls_per_lease(self) -> float:
        """Now."""
        leases = self.lease()
        self.settle(leases)
        return sum(len(one.urls) for one in leases) / max(1, len(leases))

    def warm_up(self) -> None:
        """Have Redis know the scripts."""
        self.lease()

    def queued(self) -> int:
        return self._run(self.frontier.stats()).queued

    def _payload(self, page: Page) -> bytes:
        request = Request("https://www.any.example/")
        TopicMeta(0.5, 0, page.url).put(request.meta)
        return payload_of(request, self.spider, opaque=False)

    def _exchange(self, settlements: Sequence[Settlement], asks: Sequence[Ask]) -> Any:
        reply = self._run(
            self.frontier.exchange(_now_ms(), settlements=settlements, agent="agent", asks=asks, lease_ms=LEASE_MS)
        )
        assert reply.error is None, reply.error
        return reply

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(coroutine)


class ScrapyRedis:
    """Its scheduler with its duplicate filter and its priority queue, under a name of its own."""

    def __init__(self, url: str) -> None:
        settings = {
            "REDIS_URL": url,
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        }
        crawler = get_crawler(Spider, settings)
        self.spider = Spider.from_crawler(crawler, name=f"benchmark{next(_crawls)}")
        self.scheduler = Scheduler.from_crawler(crawler)
        self.scheduler.stats = None  # counted by neither side
        self.scheduler.open(self.spider)
        self.dupefilter = self.scheduler.df

    def close(self) -> None:
        self.clear()
        self.scheduler.server.close()
        self.dupefilter.server.close()

    def __len__(self) -> int:
        return len(self.scheduler)

    def clear(self) -> None:
        self.scheduler.flush()

    def clear_seen(self) -> None:
        self.dupefilter.clear()

    @staticmethod
    def requests(pages: Iterable[Page]) -> list[Request]:
        """Each link as a request."""
        return [
            Request(url, headers={"Referer": page.url}, meta={"depth": page.depth}, priority=int(quality * 100))
            for page in pages
            for url, quality in page.links
        ]

    def enqueue_pages(self, pages: Sequence[Page]) -> int:
        """From raw links to Redis; how many links."""
        return self.enqueue(self.requests(pages))

    def enqueue(self, requests: Sequence[Request]) -> int:
        """`enqueue_request` alone; how many."""
        for request in requests:
            self.scheduler.enqueue_request(request)
        return len(requests)

    def duplicates(self, pages: Sequence[Page]) -> int:
        """The duplicate test, requests included; how many links."""
        requests = self.requests(pages)
        for request in requests:
            self.dupefilter.request_seen(request)
        return len(requests)

    def dequeue(self, most: int) -> int:
        """`next_request` until there is none; how many."""
        for done in range(most):
            if self.scheduler.next_request() is None:
                return done
        return most


def _now_ms() -> int:
    return int(time.time() * 1000)
