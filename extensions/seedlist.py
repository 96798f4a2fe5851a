"""Seeds pushed to Redis while the crawl runs, as scrapy-redis users do: ``LPUSH topic:start_urls https://example.org/``.

An entry is a URL, or a JSON object with ``url`` and optionally ``method`` and ``meta``; any other key is form data. An entry leaves the list
only after the frontier has it, so none is lost on the way. A spider with scrapy-redis's own ``make_request_from_data`` makes its requests itself,
from its own ``redis_key``; its entries are taken off at once, because such a spider also reads the list when it is idle.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError
from scrapy import FormRequest, Request

from extensions.frontier.redis import unavailable
from extensions.topicmeta import TopicMeta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redis.asyncio import Redis
    from scrapy import Spider

    from extensions.config import Config
    from extensions.scheduler import TwoLevelScheduler

logger = logging.getLogger(__name__)

AT_ONCE = 100


class SeedList:
    """The list, set or sorted set of pushed seeds of one spider."""

    def __init__(self, client: Redis, config: Config, spider: Spider) -> None:
        self._client: Any = client
        self._spider = spider
        self._make = getattr(spider, "make_request_from_data", None)
        self.key = str(
            getattr(spider, "redis_key", None) or config.start_urls_key % {"name": spider.name, "spider": spider.name}
        )
        self._kind = "set" if config.start_urls_as_set else "zset" if config.start_urls_as_zset else "list"
        self._taken: list[bytes] = []
        self._batch = 0

    async def take(self, scheduler: TwoLevelScheduler) -> int:
        """Hand what has been pushed to the engine; how many entries."""
        try:
            if self._taken and scheduler.batch <= self._batch and scheduler.candidates:
                return len(self._taken)  # not in the frontier yet
            await self._remove(self._taken)
            self._taken = await self._read()
            if self._taken and self._make is not None:
                await self._remove(self._taken)
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        self._batch = scheduler.batch
        engine = scheduler.crawler.engine
        for entry in self._taken:
            for request in self._requests(entry):
                if engine is not None:
                    engine.crawl(request)
        count = len(self._taken)
        if count:
            logger.info("%d pushed seeds taken from %s", count, self.key)
        if self._make is not None:
            self._taken = []
        return count

    def _requests(self, entry: bytes) -> Iterable[Request]:
        if self._make is not None:
            made = self._make(entry)
            return [made] if isinstance(made, Request) else list(made or ())
        try:
            return [seed_request(entry.decode())]
        except (ValueError, KeyError, TypeError) as error:
            logger.error(
                "A pushed seed of %s is neither a URL nor a JSON object with one (%s): %.200r", self.key, error, entry
            )
            return []

    async def _read(self) -> list[bytes]:
        if self._kind == "set":
            return list(await self._client.srandmember(self.key, AT_ONCE))
        if self._kind == "zset":
            return list(await self._client.zrevrange(self.key, 0, AT_ONCE - 1))
        return list(await self._client.lrange(self.key, 0, AT_ONCE - 1))

    async def _remove(self, entries: list[bytes]) -> None:
        if not entries:
            return
        if self._kind == "set":
            await self._client.srem(self.key, *entries)
        elif self._kind == "zset":
            await self._client.zrem(self.key, *entries)
        else:
            pipe = self._client.pipeline(transaction=True)
            for entry in entries:
                pipe.lrem(self.key, 1, entry)
            await pipe.execute()


def seed_request(entry: str) -> Request:
    """The request of a pushed entry. Raises ValueError or KeyError."""
    if not entry.lstrip().startswith("{"):
        request = Request(entry.strip())
    else:
        parts = json.loads(entry)
        url, method, meta = parts.pop("url"), parts.pop("method", "GET").upper(), parts.pop("meta", {})
        form = {name: str(value) for name, value in parts.items()}
        request = (
            FormRequest(url, method=method, meta=meta, formdata=form)
            if form
            else Request(url, method=method, meta=meta)
        )
    TopicMeta(quality=1.0).put(request.meta)
    return request
