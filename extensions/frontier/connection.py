"""A checked connection to the Redis that a crawl was given: any server of 6.2 or newer, with TLS, by Sentinel or in a Cluster.

=====================================================  ===========================================
``redis://host:port/db``, ``rediss://`` (TLS),          one server, as redis-py spells it
``unix://path``
``redis+sentinel://host:port,host:port/service/db``    the master that the sentinels name
``redis+cluster://host:port,host:port``                a Redis Cluster, found by any of the nodes (needs
                                                       FRONTIER_PARTITIONS > 1 to use more than one master)
=====================================================  ===========================================

``rediss+sentinel://`` and ``rediss+cluster://`` are the same with TLS. User and password stand before the first host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException

from extensions.errors import ConfigurationError
from extensions.frontier.faults import REDIS_FAULTS, fault_of

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS: dict[str, Any] = {"socket_timeout": 30, "socket_connect_timeout": 10, "retry": Retry(NoBackoff(), 0)}
"""No retries within the client: a lease whose reply was lost would be taken twice. Who calls knows what may be repeated."""
WITH_REPLICAS: dict[str, Any] = {"socket_timeout": 10, "socket_connect_timeout": 3}
"""Where another server stands by, one that says nothing is given up sooner."""

NOT_OURS = ("redis_cls", "encoding", "decode_responses", "retry_on_timeout", "url")
"""Arguments that scrapy-redis users may have in REDIS_PARAMS and that have no meaning here."""


def client_of(url: str, params: Mapping[str, Any]) -> Redis:
    """A client for the URL; nothing is connected yet. Raises `ConfigurationError` for a URL that cannot be one."""
    kwargs = {name: value for name, value in params.items() if name not in NOT_OURS}
    url = url or str(params.get("url", ""))
    scheme, _, kind = urlsplit(url).scheme.partition("+")
    try:
        if kind == "cluster" and scheme in ("redis", "rediss"):
            return _cluster(url, DEFAULTS | WITH_REPLICAS | kwargs)
        if kind == "sentinel" and scheme in ("redis", "rediss"):
            return _by_sentinel(url, DEFAULTS | WITH_REPLICAS | kwargs)
        return Redis.from_url(url, **DEFAULTS | kwargs)
    except (ValueError, TypeError, RedisClusterException) as error:
        raise ConfigurationError(
            f"REDIS_URL is {hidden(url)!r}, but must be redis://host:port/db, rediss://…, unix://path, "
            f"redis+sentinel://host:port,host:port/service or redis+cluster://host:port,host:port ({error})."
        ) from error


async def run_ids(client: Redis) -> frozenset[str]:
    """What changes when a server that holds the crawl is restarted, or a replica takes over. Raises `FrontierUnavailable`."""
    whole: Any = client
    try:
        if not isinstance(whole, RedisCluster):
            return frozenset([(await whole.info("server"))["run_id"]])
        await whole.initialize()
        return frozenset([(await whole.info("server", target_nodes=node))["run_id"] for node in whole.get_primaries()])
    except REDIS_FAULTS as error:
        raise fault_of(error) from error


def hidden(url: str) -> str:
    """The URL without its password, for messages."""
    password = urlsplit(url).password
    return url.replace(f":{password}@", ":…@") if password else url


class MasterBySentinel(Redis):
    """A client that closes what it asks the sentinels with as well."""

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close all connections."""
        await super().aclose(close_connection_pool)
        pool = cast("SentinelConnectionPool", self.connection_pool)
        await pool.sentinel_manager.aclose()


def _cluster(url: str, kwargs: dict[str, Any]) -> Redis:
    places = _places(url, 6379)
    parts = urlsplit(url)
    if parts.path.strip("/") not in ("", "0"):
        raise ValueError("a Cluster has no database but 0")
    kwargs |= {"ssl": parts.scheme.startswith("rediss"), **_credentials(url), **_options(url)}
    kwargs["startup_nodes"] = [ClusterNode(host, port) for host, port in places]
    return cast("Redis", RedisCluster(**kwargs))


def _by_sentinel(url: str, kwargs: dict[str, Any]) -> Redis:
    service, _, database = urlsplit(url).path.strip("/").partition("/")
    if not service:
        raise ValueError("the name of the service is missing after the hosts")
    kwargs |= {"ssl": urlsplit(url).scheme.startswith("rediss"), **_credentials(url), **_options(url)}
    ways = ("socket_", "ssl", "retry")
    # What leads to the sentinels is like what leads to the server, except for user and password.
    to_sentinels = {name: value for name, value in kwargs.items() if name.startswith(ways)}
    to_sentinels |= kwargs.pop("sentinel_kwargs", {})
    sentinels = Sentinel(_places(url, 26379), sentinel_kwargs=to_sentinels, **kwargs)  # type: ignore[no-untyped-call]
    master: Redis = sentinels.master_for(unquote(service), redis_class=MasterBySentinel, db=int(database or 0))
    return master


def _places(url: str, usual_port: int) -> list[tuple[str, int]]:
    """The hosts and ports between the credentials and the path, with commas between them."""
    places = []
    for place in urlsplit(url).netloc.rpartition("@")[2].split(","):
        parts = urlsplit(f"//{place}")
        if not parts.hostname:
            raise ValueError("a host is missing")
        places.append((parts.hostname, parts.port or usual_port))
    return places


def _credentials(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    found = {"username": parts.username, "password": parts.password}
    return {name: unquote(value) for name, value in found.items() if value}


def _options(url: str) -> dict[str, Any]:
    """The arguments after a question mark, such as ``?ssl_ca_certs=…``, in their types."""
    options: dict[str, Any] = dict(parse_url(f"redis://host?{urlsplit(url).query}"))
    options.pop("host")
    return options
