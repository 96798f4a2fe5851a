"""Seeds pushed to Redis while the crawl runs, as scrapy-redis users do: ``LPUSH topic:start_urls https://example.org/``.

An entry is a URL, or a JSON object with ``url`` and optionally ``method`` and ``meta``; any other key is form data. An entry leaves the list
only after the frontier has it, so none is lost on the way.

A spider with scrapy-redis's own ``make_request_from_data`` makes its requests itself, from its own ``redis_key``. Such a spider also reads the
list when it is idle, so its entries are taken off in the same step in which they are read: neither of the two sees what the other has.

What is pushed is anybody's: an entry that no request can be made of is logged and counted, and the crawl goes on.
"""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Any

from redis.exceptions import ResponseError
from scrapy import FormRequest, Request

from extensions.errors import ConfigurationError
from extensions.frontier.faults import REDIS_FAULTS, fault_of
from extensions.frontier.routes import Routes
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
        self._routes = Routes(client)
        self._spider: Any = spider
        self._make = getattr(spider, "make_request_from_data", None)
        self.key: str = getattr(spider, "redis_key", None) or key_of(config.start_urls_key, spider.name)
        self._kind = "set" if config.start_urls_as_set else "zset" if config.start_urls_as_zset else "list"
        self._taken: list[bytes] = []
        self._batch = 0
        self._unreadable = False

    async def take(self, scheduler: TwoLevelScheduler) -> int:
        """Hand what has been pushed to the engine; how many entries. Raises `FrontierUnavailable`."""
        try:
            if self._make is not None:
                entries = await self._pop()
            elif self._taken and scheduler.holdings.batch <= self._batch and scheduler.holdings.candidates:
                return len(self._taken)  # not in the frontier yet
            else:
                await self._remove(self._taken)
                entries = self._taken = await self._read()
        except ResponseError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise fault_of(error) from error
            self._tell_wrong_type()
            return 0
        except REDIS_FAULTS as error:
            raise fault_of(error) from error
        self._batch = scheduler.holdings.batch
        for entry in entries:
            self._crawl(entry, scheduler)
        if entries:
            logger.info("%d pushed seeds taken from %s", len(entries), self.key)
            if hasattr(self._spider, "spider_idle_start_time"):
                # MAX_IDLE_TIME_BEFORE_CLOSE counts from the last seed; this one its spider does not get to see.
                self._spider.spider_idle_start_time = int(time.time())
        return len(entries)

    def _crawl(self, entry: bytes, scheduler: TwoLevelScheduler) -> None:
        engine: Any = scheduler.crawler.engine
        try:
            for request in self._requests(entry):
                engine.crawl(request)
        except Exception as error:  # noqa: BLE001 - the entry is anybody's, and so is the code that reads it
            scheduler.stats.inc_value("frontier/seeds_unreadable")
            logger.error(
                "No request can be made of a pushed seed of %s (%s: %s): %.200r",
                self.key,
                type(error).__name__,
                error,
                entry,
            )

    def _requests(self, entry: bytes) -> Iterable[Request]:
        if self._make is None:
            return [seed_request(entry.decode())]
        made = self._make(entry)
        return [made] if isinstance(made, Request) else list(made or ())

    def _tell_wrong_type(self) -> None:
        if not self._unreadable:
            self._unreadable = True
            logger.error(
                "The pushed seeds in %s are not read: the key does not hold a %s. Set REDIS_START_URLS_AS_SET or REDIS_START_URLS_AS_ZSET "
                "as they are pushed, or delete the key.",
                self.key,
                {"list": "list", "set": "set", "zset": "sorted set"}[self._kind],
            )

    async def _pop(self) -> list[bytes]:
        if self._kind == "set":
            return list(await self._client.spop(self.key, AT_ONCE) or ())
        if self._kind == "zset":
            return [entry for entry, _ in await self._client.zpopmax(self.key, AT_ONCE)]
        return list(await self._client.lpop(self.key, AT_ONCE) or ())

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
            await self._routes.ask([(self.key, ("LREM", self.key, 1, entry)) for entry in entries])


def key_of(pattern: str, spider_name: str) -> str:
    """The key of a spider's seeds. Raises `ConfigurationError`."""
    try:
        return pattern % {"name": spider_name, "spider": spider_name}
    except (KeyError, ValueError, TypeError):
        raise ConfigurationError(
            f"REDIS_START_URLS_KEY is {pattern!r}, but must be a key in which only %(name)s stands for something, the spider's name."
        ) from None


def seed_request(entry: str) -> Request:
    """The request of a pushed entry. Raises what `json` and `Request` raise for one that is neither a URL nor an object with one."""
    if not entry.lstrip().startswith("{"):
        request = Request(entry.strip())
    else:
        parts = json.loads(entry)
        url, method, meta = parts.pop("url"), str(parts.pop("method", "GET")).upper(), parts.pop("meta", {})
        form = {name: str(value) for name, value in parts.items()}
        request = (
            FormRequest(url, method=method, meta=meta, formdata=form)
            if form
            else Request(url, method=method, meta=meta)
        )
    TopicMeta(quality=1.0).put(request.meta)
    return request
