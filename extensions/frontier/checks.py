"""Whether a Redis can carry a frontier, told before the crawl begins: what stops it is raised, what may cost it later is a warning."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from redis.asyncio import RedisCluster
from redis.exceptions import AuthenticationError, NoPermissionError

from extensions.errors import FrontierUnavailable
from extensions.frontier.connection import hidden
from extensions.frontier.faults import REDIS_FAULTS, fault_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

Info = dict[str, Any]
LEAST_VERSION = (6, 2)
GOOD_SHARES = 4
"""Partitions per master from which on chance spreads the servers evenly enough."""


async def check(client: Redis, url: str, partitions: int | None = None) -> None:
    """Raise `FrontierUnavailable`, saying what to do, unless every node serves. Warns as well if told how many partitions there are."""
    where = hidden(url)
    whole: Any = client
    try:
        nodes = await (_of_cluster(whole) if isinstance(whole, RedisCluster) else _of_server(whole, where))
    except (AuthenticationError, NoPermissionError) as error:
        raise fault_of(error) from error
    except REDIS_FAULTS as error:
        raise FrontierUnavailable(
            f"No Redis answers at {where} ({type(error).__name__}: {error}). Start it, correct REDIS_URL, "
            "or leave REDIS_URL unset: then a private Redis is started."
        ) from error
    for name, info in nodes.items():
        _check_node(name, info)
    if partitions is not None:
        _warn(nodes, where, partitions)


async def _of_server(client: Any, where: str) -> dict[str, Info]:
    info: Info = await client.info()
    if info.get("cluster_enabled"):
        raise FrontierUnavailable(
            f"The Redis at {where} is a node of a Cluster: write redis+cluster:// instead of redis:// in REDIS_URL."
        )
    if info.get("role") == "slave":
        raise FrontierUnavailable(
            f"The Redis at {where} is a replica and takes no writes: put its master, {info.get('master_host')}:{info.get('master_port')}, "
            "into REDIS_URL."
        )
    return {where: info}


async def _of_cluster(client: Any) -> dict[str, Info]:
    """Of all masters, and of those replicas that answer."""
    await client.initialize()
    nodes = client.get_nodes()
    answers = await asyncio.gather(*(client.info(target_nodes=node) for node in nodes), return_exceptions=True)
    found = {}
    for node, info in zip(nodes, answers, strict=True):
        if isinstance(info, REDIS_FAULTS) and node.server_type != "primary":
            logger.warning("The replica %s of the Redis Cluster does not answer: start it again.", node.name)
        elif isinstance(info, BaseException):
            raise info
        else:
            found[node.name] = info
    return found


def _check_node(name: str, info: Mapping[str, Any]) -> None:
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_VERSION:
        raise FrontierUnavailable(f"The Redis at {name} is version {version}; the frontier needs 6.2 or newer.")
    policy = str(info.get("maxmemory_policy", ""))
    if policy.startswith("allkeys") and int(info.get("maxmemory", 0)) > 0:
        raise FrontierUnavailable(
            f"The Redis at {name} may evict any key when it is full (maxmemory-policy {policy}) and would lose URLs: "
            "set maxmemory-policy noeviction there."
        )


def _warn(nodes: Mapping[str, Info], where: str, partitions: int) -> None:
    forgetful = [name for name, info in nodes.items() if not info.get("aof_enabled")]
    if forgetful:
        logger.warning(
            "The Redis at %s keeps no append-only file: if it is restarted, the crawl loses what it has written since the last snapshot, "
            "or all. Set appendonly yes there.",
            ", ".join(forgetful),
        )
    masters = sum(info.get("role") == "master" for info in nodes.values())
    if partitions < masters:
        logger.warning(
            "FRONTIER_PARTITIONS is %d, so the crawl uses %d of the %d masters of the Redis Cluster at %s: begin the next crawl with "
            "-s FRONTIER_PARTITIONS=%d or more.",
            partitions,
            partitions,
            masters,
            where,
            GOOD_SHARES * masters,
        )
