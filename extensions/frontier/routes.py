"""Commands sent to whoever holds their keys, all at once: the only server there is, or several masters of a Redis Cluster.

Commands with one key reach one node in their order, over one connection. Each gets its own reply or its own error: what one node
refuses leaves the others' replies as they are. Nothing is ever sent twice from here, since what became of a call whose reply was lost
is unknown. (redis-py's own pipeline for Clusters repeats all of it when one connection fails.)

Where there is a replica to be promoted, a reply counts only when a replica has what was written as well (``WAIT``, in the same round
trip): what a caller was told survives the loss of the master. A replica that does not keep up is not waited for again for a while.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode, PipelineCommand
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.exceptions import ClusterDownError, MovedError, ResponseError

from extensions.frontier.faults import REDIS_FAULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

Command = tuple[Any, ...]
ONLY = "the only server"
REPLICA_MS = 1000
"""How long a replica may take to confirm, and no longer than half of what the caller waits for the master."""
REPLICA_PATIENCE_SECONDS = 30.0
"""How long one that did not is left alone."""


@dataclass(slots=True)
class Route:
    """What goes to one node: the places of its commands among all."""

    node: str
    has_replica: bool
    places: list[int] = field(default_factory=list)


class Routes:
    """The ways from one client to the nodes behind it."""

    def __init__(self, client: Redis | RedisCluster) -> None:
        self._client: Any = client
        self._cluster: RedisCluster | None = None
        self._by_sentinel = False
        if isinstance(client, RedisCluster):
            self._cluster = client
        else:
            self._by_sentinel = isinstance(client.connection_pool, SentinelConnectionPool)
        ways = (
            client.connection_kwargs if isinstance(client, RedisCluster) else client.connection_pool.connection_kwargs
        )
        self._replica_ms = int(min(REPLICA_MS, 500 * (ways.get("socket_timeout") or math.inf)))
        self._lost: str | None = None
        """A node that did not serve: the map of the Cluster is to be read again, from another one."""
        self._leave_alone: dict[str, float] = {}

    async def plan(self, keys: Sequence[str]) -> list[Route]:
        """Which keys' commands go together. Raises one of `REDIS_FAULTS` if nobody knows."""
        if self._cluster is None:
            return [Route(ONLY, self._by_sentinel, list(range(len(keys))))]
        await self._read_map(self._cluster)
        routes: dict[str, Route] = {}
        for place, key in enumerate(keys):
            nodes = self._cluster.nodes_manager.slots_cache.get(self._cluster.keyslot(key))
            if not nodes:
                raise ClusterDownError(f"no node has the slot of {key}")
            master, *replicas = nodes
            routes.setdefault(master.name, Route(master.name, bool(replicas))).places.append(place)
        return list(routes.values())

    async def send(self, batches: Sequence[tuple[Route, Sequence[Command]]]) -> list[list[Any]]:
        """The replies of each batch, in order, with errors among them."""
        return list(await asyncio.gather(*(self._to(route, commands) for route, commands in batches)))

    async def ask(self, keyed: Sequence[tuple[str, Command]]) -> list[Any]:
        """The replies to commands that may be repeated, each with its key. Raises the first error, one of `REDIS_FAULTS`."""
        replies = await self._ask(keyed)
        if any(isinstance(reply, MovedError) for reply in replies):
            replies = await self._ask(keyed)
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    async def _ask(self, keyed: Sequence[tuple[str, Command]]) -> list[Any]:
        replies: list[Any] = [None] * len(keyed)
        routes = await self.plan([key for key, _ in keyed])
        answers = await self.send([(route, [keyed[place][1] for place in route.places]) for route in routes])
        for route, answer in zip(routes, answers, strict=True):
            for place, reply in zip(route.places, answer, strict=True):
                replies[place] = reply
        return replies

    async def _to(self, route: Route, commands: Sequence[Command]) -> list[Any]:
        waits = route.has_replica and self._leave_alone.get(route.node, 0.0) <= time.monotonic()
        sent = [*commands, ("WAIT", 1, self._replica_ms)] if waits else list(commands)
        try:
            replies = await (self._to_node(route.node, sent) if self._cluster else self._to_server(sent))
        except REDIS_FAULTS as error:
            replies = [error] * len(sent)
        if self._cluster is not None:
            await self._learn(self._cluster, route.node, replies)
        if waits:
            self._note_replica(route.node, replies.pop())
        return replies

    async def _to_server(self, commands: Sequence[Command]) -> list[Any]:
        pipe = self._client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        replies: list[Any] = await pipe.execute(raise_on_error=False)
        return replies

    async def _to_node(self, name: str, commands: Sequence[Command]) -> list[Any]:
        node: ClusterNode = self._client.get_node(node_name=name)
        sent = [PipelineCommand(place, *command) for place, command in enumerate(commands)]
        await node.execute_pipeline(sent)
        return [command.result for command in sent]

    async def _read_map(self, cluster: RedisCluster) -> None:
        await cluster.initialize()
        if self._lost is not None:
            await cluster.nodes_manager.initialize(last_failed_node_name=self._lost)
            self._lost = None

    async def _learn(self, cluster: RedisCluster, node: str, replies: Sequence[Any]) -> None:
        """Where a slot has gone, from the errors."""
        moved: dict[int, MovedError] = {}
        for reply in replies:
            if isinstance(reply, MovedError):
                moved[reply.slot_id] = reply
            elif isinstance(reply, ClusterDownError) or (
                isinstance(reply, Exception) and not isinstance(reply, ResponseError)
            ):
                self._lost = node
        for error in moved.values():
            await cluster.nodes_manager.move_slot(error)

    def _note_replica(self, node: str, confirmed: Any) -> None:
        if isinstance(confirmed, int) and confirmed > 0:
            self._leave_alone.pop(node, None)
            return
        if isinstance(confirmed, Exception) and not isinstance(confirmed, ResponseError):
            return  # the way to the node broke off: that says nothing of its replica
        if node not in self._leave_alone:  # told once, until it keeps up again
            logger.warning(
                "No replica of Redis (%s) confirms what is written: if that server is lost now, so may be the last second's work.",
                node,
            )
        self._leave_alone[node] = time.monotonic() + REPLICA_PATIENCE_SECONDS
