"""A process's place in a crawl: its connection to Redis (or its own private one), its name among the agents, the frontier.

Opened once, closed once. What an earlier life of the same agent held is taken back at the start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.utils.project import data_path

from extensions.errors import ConfigurationError
from extensions.frontier.agents import AgentName
from extensions.frontier.checks import check
from extensions.frontier.clock import RedisClock
from extensions.frontier.connection import client_of, run_ids
from extensions.frontier.embedded import EmbeddedRedis
from extensions.frontier.faults import REDIS_FAULTS, fault_of
from extensions.frontier.keys import LAYOUT
from extensions.frontier.redis import RedisFrontier
from extensions.frontier.registry import Registry
from extensions.membership import Membership

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from extensions.config import Config
    from extensions.frontier.records import Stats

logger = logging.getLogger(__name__)


class Session:
    """After `open`: `client`, `frontier`, `members`, `agent`, and `now_ms`, the frontier's clock."""

    client: Redis
    frontier: RedisFrontier
    members: Membership

    def __init__(self, config: Config, *, capacity: int, max_depth: int, seen_bits: int) -> None:
        self.agent = ""
        self.now_ms = RedisClock()
        self._capacity = capacity
        self._config = config
        self._max_depth = max_depth
        self._seen_bits = seen_bits
        self._connected = False
        self._embedded: EmbeddedRedis | None = None
        self._name: AgentName | None = None

    async def open(self, crawl: str) -> Stats:
        """Connect; what the crawl's frontier holds already. Raises `CrawlError`, with nothing left running."""
        try:
            return await self._open(crawl)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Leave. The private Redis ends with the last who leaves."""
        if self._connected:
            self._connected = False
            with contextlib.suppress(Exception):
                await self.client.aclose()
        if self._name is not None:
            self._name.free()
        if self._embedded is not None:
            await asyncio.to_thread(self._embedded.stop)
            self._embedded = None

    async def set_clock(self) -> None:
        """Read the server's time again: this machine may have slept."""
        await self.now_ms.set_by(self.client)

    async def _open(self, crawl: str) -> Stats:
        config = self._config
        url, params = config.redis_url, config.redis_params
        if not url:
            self._embedded = EmbeddedRedis(project_path(config.embedded_dir))
            await asyncio.to_thread(self._embedded.start)
            url, params = self._embedded.url, {}
        self.client = client_of(url, params)
        self._connected = True
        await check(self.client, url, config.partitions)
        await self._loaded()
        await self.set_clock()
        self._name = AgentName(project_path(".scrapy/agents"), crawl, config.agent)
        try:
            self.agent = self._name.take()
        except BlockingIOError:
            raise ConfigurationError(
                f"Another process runs as FRONTIER_AGENT {config.agent} in the crawl {crawl}: give each a name of its own."
            ) from None
        self.frontier = RedisFrontier(self.client, crawl, config.rules(self._max_depth), config.partitions)
        self.members = Membership(
            Registry(self.client, crawl),
            name=self.agent,
            place=self._name.place,
            capacity=self._capacity,
            lease_ms=int(config.lease_seconds * 1000),
            partitions=config.partitions,
        )
        await self.members.look(self.now_ms())
        if config.flush_on_start:
            await self._flush(crawl)
        await self._check_fixed(crawl)
        await self.frontier.reclaim(self.now_ms(), self.agent)
        await self.members.join(self.now_ms())
        found = await self.frontier.stats()
        if found.queued:
            logger.info("Resuming crawl %s: %d URLs queued, %d seen", crawl, found.queued, found.seen)
        return found

    async def _loaded(self) -> None:
        """Wait while Redis reads its file back: after a restart of the machine it and the crawl begin at once."""
        told = False
        while True:
            try:
                info: dict[str, Any] = await self.client.info("persistence")
            except REDIS_FAULTS as error:
                raise fault_of(error) from error
            nodes = [info] if "loading" in info else list(info.values())
            if not any(int(node["loading"]) for node in nodes):
                return
            if not told:
                told = True
                logger.info("Redis is reading its file back; the crawl begins when it has")
            await asyncio.sleep(0.5)

    async def run_id(self) -> object:
        """What changes when Redis is restarted, or a replica takes over: then its last writes may be gone."""
        return await run_ids(self.client)

    async def _flush(self, crawl: str) -> None:
        if self.members.company:
            raise ConfigurationError(
                f"SCHEDULER_FLUSH_ON_START would make the crawl {crawl} begin anew under other agents that are at work on it "
                f"({', '.join(self.members.company)}): stop them first, or leave the setting out to join them. "
                f"One that was killed counts as at work for {self._config.lease_seconds:g} s."
            )
        await self.frontier.clear()

    async def _check_fixed(self, crawl: str) -> None:
        """What cannot change once a crawl has begun."""
        mine = {
            "order": "quality" if self.frontier.orders_by_quality else "first in, first out",
            "partitions": str(self._config.partitions),
            "seen_bits": str(self._seen_bits),
            "layout": LAYOUT,
        }
        named = {"order": "FRONTIER_POLICY", "partitions": "FRONTIER_PARTITIONS", "seen_bits": "SEEN_EXPECTED_URLS"}
        found = await self.frontier.about(mine)
        if found.get("layout") != LAYOUT:
            raise ConfigurationError(
                f"The crawl {crawl} was begun by another version of this project, which keeps crawls in Redis in another way: finish it with that version, "
                "begin another crawl with -s FRONTIER_CRAWL=<name>, or forget this one with -s SCHEDULER_FLUSH_ON_START=True."
            )
        for name, setting in named.items():
            if found[name] != mine[name]:
                raise ConfigurationError(
                    f"The crawl {crawl} was begun with another {setting} ({name} {found[name]}, now {mine[name]}): set it back, "
                    "begin another crawl with -s FRONTIER_CRAWL=<name>, or forget this one with -s SCHEDULER_FLUSH_ON_START=True."
                )


def project_path(path: str) -> Path:
    """A path below the project's folder, or below the working folder where there is no project (in an egg)."""
    given = Path(path)
    if not given.is_absolute() and given.parts[:1] == (".scrapy",):
        with contextlib.suppress(NotConfigured):
            return Path(data_path(str(Path(*given.parts[1:]))))
    return given.absolute()
