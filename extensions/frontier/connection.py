"""A checked connection to the Redis that a crawl was given: any server of 6.2 or newer, with TLS, by Sentinel or in a Cluster.

=====================================================  ===========================================
``redis://host:port/db``, ``rediss://`` (TLS),          one server, as redis-py spells it
``unix://path``
``redis+sentinel://host:port,host:port/service/db``    the master that the sentinels name
``redis+cluster://host:port``                          a Redis Cluster (needs FRONTIER_PARTITIONS > 1
                                                       to use more than one of its masters)
=====================================================  ===========================================
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from extensions.errors import ConfigurationError, FrontierUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST_VERSION = (6, 2)
DEFAULTS: dict[str, Any] = {"socket_timeout": 30, "socket_connect_timeout": 10, "retry": Retry(NoBackoff(), 0)}
"""No retries within the client: a lease whose reply was lost would be taken twice. Who calls knows what may be repeated."""

NOT_OURS = ("redis_cls", "encoding", "decode_responses", "retry_on_timeout", "url")
"""Arguments that scrapy-redis users may have in REDIS_PARAMS and that have no meaning here."""


def client_of(url: str, params: Mapping[str, Any]) -> Redis:
    """A client for the URL; nothing is connected yet. Raises `ConfigurationError` for a URL that cannot be one."""
    kwargs = DEFAULTS | {name: value for name, value in params.items() if name not in NOT_OURS}
    url = url or str(params.get("url", ""))
    parts = urlsplit(url)
    try:
        if parts.scheme == "redis+cluster":
            del kwargs["retry"]  # a cluster's client needs its own, to follow slots that have moved
            return cast("Redis", RedisCluster.from_url("redis" + url.removeprefix("redis+cluster"), **kwargs))
        if parts.scheme == "redis+sentinel":
            return _by_sentinel(url, kwargs)
        return Redis.from_url(url, **kwargs)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(
            f"REDIS_URL is {hidden(url)!r}, but must be redis://host:port/db, rediss://…, unix://path, "
            f"redis+sentinel://host:port/service or redis+cluster://host:port ({error})."
        ) from error


async def check(client: Redis, url: str) -> None:
    """Raise `FrontierUnavailable`, saying what to do, unless the server can carry a frontier."""
    where = hidden(url)
    try:
        info = await client.info()
    except (RedisError, OSError) as error:
        raise FrontierUnavailable(
            f"No Redis answers at {where} ({type(error).__name__}: {error}). Start it, correct REDIS_URL, "
            "or leave REDIS_URL unset: then a private Redis is started."
        ) from error
    if "redis_version" not in info:  # a cluster answers for each of its nodes
        info = next(iter(info.values()))
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_VERSION:
        raise FrontierUnavailable(f"The Redis at {where} is version {version}; the frontier needs 6.2 or newer.")
    policy = str(info.get("maxmemory_policy", ""))
    if policy.startswith("allkeys") and int(info.get("maxmemory", 0)) > 0:
        raise FrontierUnavailable(
            f"The Redis at {where} may evict any key when it is full (maxmemory-policy {policy}) and would lose URLs: "
            "set maxmemory-policy noeviction there."
        )


class RedisClock:
    """The frontier's one clock: the Redis server's, read once and carried on by this machine's monotonic one."""

    def __init__(self) -> None:
        self._offset_ms = 0.0

    async def set_by(self, client: Redis) -> None:
        """Read the server's time; half of the round trip is taken for the way back."""
        before = time.monotonic()
        try:
            seconds, micros = await client.time()
        except (RedisError, OSError) as error:
            raise FrontierUnavailable(f"Redis does not tell the time ({type(error).__name__}: {error}).") from error
        after = time.monotonic()
        self._offset_ms = seconds * 1000 + micros / 1000 - (before + after) / 2 * 1000

    def __call__(self) -> int:
        """Now, in milliseconds of the server's clock."""
        return int(time.monotonic() * 1000 + self._offset_ms)


def hidden(url: str) -> str:
    """The URL without its password, for messages."""
    parts = urlsplit(url)
    return url.replace(f":{parts.password}@", ":…@") if parts.password else url


def _by_sentinel(url: str, kwargs: dict[str, Any]) -> Redis:
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2]
    service, _, database = parts.path.strip("/").partition("/")
    if not service:
        raise ValueError("the name of the service is missing after the hosts")
    sentinels = []
    for place in hosts.split(","):
        host, _, port = place.partition(":")
        sentinels.append((host, int(port or 26379)))
    if parts.password:
        kwargs["password"] = unquote(parts.password)
    master: Redis = Sentinel(sentinels, **kwargs).master_for(service, db=int(database or 0))  # type: ignore[no-untyped-call]
    return master
