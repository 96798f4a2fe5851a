"""The Redis of a chaos trial and what happens to it: killed and started again on its file, stopped, its connections reset.

A fault blocks until it is over, except that it returns at once where the trial has been halted. What each did is told in words.
"""

from __future__ import annotations

import contextlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from tests.faults import RedisProxy
from tests.redis_servers import NODE_TIMEOUT_MS, Cluster, Server, cluster, durable_server

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Mapping
    from threading import Event

Fault = "Callable[[random.Random, float, Event], str]"
LONGEST_ABSENCE_SECONDS = 2.0


class ChaosRedis(Protocol):
    """What a trial needs of its Redis."""

    url: str
    """For the agents."""
    direct_url: str
    """For an observer, past the faults that lie between."""

    @property
    def faults(self) -> Mapping[str, Callable[[random.Random, float, Event], str]]:
        """Kind → fault, called with the source of chance, the length of a lease in seconds, and what halts the trial."""
        ...


class OneRedis:
    """A server with an append-only file behind a proxy."""

    def __init__(self, server: Server, proxy: RedisProxy) -> None:
        self.url = proxy.url
        self.direct_url = server.url
        self._server = server
        self._proxy = proxy
        self.faults = {
            "redis_kill": self.kill,
            "redis_pause": self.pause,
            "connection_reset": self.reset,
            "lost_reply": self.lose_reply,
        }

    def kill(self, rng: random.Random, lease_seconds: float, halt: Event) -> str:
        """SIGKILL; after a while it reads its file back."""
        seconds = rng.uniform(0, LONGEST_ABSENCE_SECONDS)
        self._server.kill()
        halt.wait(seconds)
        self._server.start()
        return f"for {seconds:.1f} s"

    def pause(self, rng: random.Random, lease_seconds: float, halt: Event) -> str:
        """SIGSTOP, now and then for longer than a lease."""
        seconds = rng.uniform(0.1, 1.5) * lease_seconds
        self._server.pause()
        halt.wait(seconds)
        self._server.resume()
        return f"for {seconds:.1f} s"

    def reset(self, rng: random.Random, lease_seconds: float, halt: Event) -> str:
        """TCP resets, once or several times in a row."""
        times = rng.randint(1, 5)
        for _ in range(times):
            self._proxy.reset()
            halt.wait(rng.uniform(0, 0.3))
        return f"{times} times"

    def lose_reply(self, rng: random.Random, lease_seconds: float, halt: Event) -> str:
        """Scripts run, and their caller never hears of it."""
        times = rng.randint(1, 5)
        for _ in range(times):
            self._proxy.lose_reply()
            halt.wait(rng.uniform(0, 0.3))
        return f"{times} times"


class ClusterRedis:
    """Three masters and their replicas."""

    def __init__(self, six: Cluster) -> None:
        self.url = self.direct_url = six.url
        self._six = six
        self.faults = {
            "master_kill": self.kill,
            "master_pause": self.pause,
            "connection_reset": self.reset,
        }

    def kill(self, rng: random.Random, lease_seconds: float, halt: Event) -> str:
        """SIGKILL a master; when its replica serves in its place, it comes back as that one's replica."""
        master = rng.choice(self._masters())
        master.kill()
        self._six.wait_until_promoted(master)
        halt.wait(rng.uniform(0, LONGEST_ABSENCE_SECONDS))
        self._six.mend()
        return master.address

    def pause(self, rng: random.Random, lease_seconds: float, halt: Event) -> str:
        """SIGSTOP a master, now and then until it has been replaced without knowing."""
        master = rng.choice(self._masters())
        seconds = rng.uniform(0.1, 2.5) * NODE_TIMEOUT_MS / 1000
        master.pause()
        halt.wait(seconds)
        master.resume()
        self._six.wait_until_whole()
        return f"{master.address} for {seconds:.1f} s"

    def reset(self, rng: random.Random, lease_seconds: float, halt: Event) -> str:
        """All nodes hang up on their clients, once or several times in a row."""
        times = rng.randint(1, 5)
        for _ in range(times):
            for node in self._six.servers:
                node.ask("CLIENT", "KILL", "TYPE", "normal")
            halt.wait(rng.uniform(0, 0.3))
        return f"{times} times"

    def _masters(self) -> list[Server]:
        return [one for one in self._six.servers if one.info()["role"] == "master"]


@contextmanager
def one_redis() -> Iterator[OneRedis]:
    """From start to end of a trial."""
    with durable_server() as server, RedisProxy(server.url) as proxy:
        try:
            yield OneRedis(server, proxy)
        finally:
            with contextlib.suppress(ProcessLookupError):
                server.resume()


@contextmanager
def cluster_redis() -> Iterator[ClusterRedis]:
    """From start to end of a trial."""
    with cluster() as six:
        yield ClusterRedis(six)
