"""Real Redis servers to be killed: one with an append-only file, a master with replica and sentinels, a Cluster of six.

Used as context managers, by fixtures and by benchmarks alike. All processes listen on the loopback interface only, on ports found free,
and keep their files in a folder of their own, which goes with them.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from tests.conftest import redis_binary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOST = "127.0.0.1"
NODE_TIMEOUT_MS = 2000
SLOTS = 16384
BUS = 10000
"""The port on which nodes of a Cluster speak to each other is this much higher."""
PATIENCE_SECONDS = 30.0


def wait_until(what: str, true: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """What `true` returns, once it is true; an error of Redis counts as false."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(redis.RedisError, OSError):
            if found := true():
                return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def free_port() -> int:
    """A port that is free, as is the one for the Cluster's own traffic."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind((HOST, 0))
            port: int = one.getsockname()[1]
            if port + BUS > 65535:
                continue
            with contextlib.suppress(OSError):
                other.bind((HOST, port + BUS))
                return port


@dataclass
class Server:
    """One process of redis-server; the same command line at each start, so that it finds its files again."""

    folder: Path
    port: int
    options: dict[str, str] = field(default_factory=dict)
    sentinel: bool = False
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}"

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def client(self) -> redis.Redis:
        """Tells at once how things are."""
        return redis.Redis(host=HOST, port=self.port, socket_timeout=5, retry=Retry(NoBackoff(), 0))

    def ask(self, *words: Any) -> Any:
        with self.client() as client:
            return client.execute_command(*words)

    def info(self) -> dict[str, Any]:
        with self.client() as client:
            return client.info()

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        binary = redis_binary()
        assert binary is not None
        file = self.folder / "redis.conf"
        if not file.exists():  # a sentinel writes into it what it has learnt
            options = {"bind": HOST, "port": str(self.port), "dir": str(self.folder), "logfile": "redis.log"}
            options |= {} if self.sentinel else {"save": '""'}
            file.write_text("".join(f"{name} {value}\n" for name, value in (options | self.options).items()))
        arguments = [str(file), *(["--sentinel"] if self.sentinel else [])]
        self.process = subprocess.Popen([binary, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(f"redis-server answers at {self.address}", lambda: self.ask("PING"))

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End it, by default without a chance to say good-bye."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
            self.process.wait(PATIENCE_SECONDS)

    def restart(self) -> None:
        """Start it again, after killing it if it lives."""
        if self.alive:
            self.kill()
        self.start()

    def pause(self) -> None:
        """It stays connected and says nothing."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


class Servers:
    """Some servers in one folder; they are gone when the context ends."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="redis-"))
        self.servers: list[Server] = []

    def add(self, options: dict[str, str], *, sentinel: bool = False) -> Server:
        """Start one more."""
        port = free_port()
        server = Server(self.folder / str(port), port, options, sentinel)
        self.servers.append(server)
        server.start()
        return server

    def end(self) -> None:
        for server in self.servers:
            server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


AOF = {"appendonly": "yes", "appendfsync": "everysec"}


@contextlib.contextmanager
def durable_server(**options: str) -> Iterator[Server]:
    """One server with an append-only file."""
    servers = Servers()
    try:
        yield servers.add(AOF | options)
    finally:
        servers.end()


class Watched(Servers):
    """A master, a replica, and three sentinels of whom two must agree."""

    service = "frontier"

    def start(self) -> None:
        self.master = self.add(AOF)
        self.replica = self.add(AOF | {"replicaof": f"{HOST} {self.master.port}"})
        wait_until("the replica has a copy", lambda: self.replica.info().get("master_link_status") == "up")
        name = f"sentinel {{}} {self.service}"
        watch = {
            f"sentinel monitor {self.service}": f"{HOST} {self.master.port} 2",
            name.format("down-after-milliseconds"): "1000",
            name.format("failover-timeout"): "3000",
        }
        self.sentinels = [self.add(watch, sentinel=True) for _ in range(3)]
        wait_until("the sentinels know each other and the replica", self._all_known)

    @property
    def url(self) -> str:
        return f"redis+sentinel://{','.join(one.address for one in self.sentinels)}/{self.service}"

    def master_port(self) -> int:
        """According to the first sentinel."""
        return int(self.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.service)[1])

    def _all_known(self) -> bool:
        for one in self.sentinels:
            with one.client() as client:
                state = client.sentinel_master(self.service)
            if state["num-other-sentinels"] != 2 or state["num-slaves"] != 1:
                return False
        return True


@contextlib.contextmanager
def sentinels() -> Iterator[Watched]:
    """A master with a replica that is promoted about two seconds after the master's death."""
    watched = Watched()
    try:
        watched.start()
        yield watched
    finally:
        watched.end()


class Cluster(Servers):
    """Six processes: three masters of a third of the slots each, three replicas."""

    def start(self, masters: int = 3) -> None:
        options = AOF | {
            "cluster-enabled": "yes",
            "cluster-config-file": "nodes.conf",
            "cluster-node-timeout": str(NODE_TIMEOUT_MS),
            "cluster-replica-validity-factor": "0",
            "repl-diskless-sync": "yes",
            "repl-diskless-sync-delay": "0",
        }
        nodes = [self.add(options) for _ in range(2 * masters)]
        for number, node in enumerate(nodes, 1):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number)
        for node in nodes[1:]:
            node.ask("CLUSTER", "MEET", HOST, nodes[0].port)
        for number, node in enumerate(nodes[:masters]):
            first, end = SLOTS * number // masters, SLOTS * (number + 1) // masters
            node.ask("CLUSTER", "ADDSLOTS", *range(first, end))
        wait_until("all nodes know each other", lambda: all(len(self._known(node)) == 2 * masters for node in nodes))
        for master, replica in zip(nodes[:masters], nodes[masters:], strict=True):
            identity = master.ask("CLUSTER", "MYID").decode()
            wait_until("it can be replicated", lambda: replica.ask("CLUSTER", "REPLICATE", identity))  # noqa: B023
        self.wait_until_whole()

    @property
    def url(self) -> str:
        return f"redis+cluster://{','.join(one.address for one in self.servers)}"

    def master_of(self, key: str) -> Server:
        """Whoever serves the key's slot now, according to the living."""
        slot = key_slot(key.encode())
        witness = next(one for one in self.servers if one.alive)
        for first, last, master, *_ in witness.ask("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(one for one in self.servers if one.port == master[1])
        raise LookupError(f"no master has slot {slot}")

    def replica_of(self, master: Server) -> Server:
        """The one that would be promoted."""
        port = master.info()["slave0"]["port"]
        return next(one for one in self.servers if one.port == port)

    def wait_until_promoted(self, dead: Server) -> None:
        """The living serve all slots without this one."""

        def served() -> bool:
            living = [one for one in self.servers if one.alive and one is not dead]
            return all(
                b"cluster_state:ok" in one.ask("CLUSTER", "INFO")
                and all(master[1] != dead.port for _, _, master, *_ in one.ask("CLUSTER", "SLOTS"))
                for one in living
            )

        wait_until(f"a replica is promoted for {dead.address}", served)

    def wait_until_whole(self) -> None:
        """All nodes serve, and each master has a replica with a copy."""

        def whole() -> bool:
            for one in self.servers:
                info = one.info()
                copied = info["connected_slaves"] if info["role"] == "master" else info["master_link_status"] == "up"
                if not copied or b"cluster_state:ok" not in one.ask("CLUSTER", "INFO"):
                    return False
                if any(len(rest) != 2 for _, _, *rest in one.ask("CLUSTER", "SLOTS")):
                    return False
            return True

        wait_until("the Cluster is whole", whole)

    def mend(self) -> None:
        """Start again whoever is dead."""
        for one in self.servers:
            if not one.alive:
                one.start()
        self.wait_until_whole()

    @staticmethod
    def _known(node: Server) -> list[str]:
        with node.client() as client:
            return list(client.cluster("nodes"))


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """A Cluster in which a replica is promoted about three seconds after its master's death."""
    six = Cluster()
    try:
        six.start()
        yield six
    finally:
        six.end()
