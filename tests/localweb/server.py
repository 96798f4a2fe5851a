"""One process that is a whole web on loopback: any number of host names on one http and one https port.

The Host header says which server is meant; a port in it (``a.test:8080``) tells servers of one host apart in the log and is
otherwise ignored. The access log has one JSON line per request, written when its answer is complete:

- ``start_ms`` and ``end_ms``: when the request's head was there, and when the answer's last byte had left this process. Epoch
  milliseconds that never go back, whatever happens to the clock;
- ``scheme``, ``host``, ``port``: the server as the URL names it; ``method``, ``path`` (with query), ``status`` (0 if none was sent),
  ``bytes`` of the answer's body;
- ``connection``: number of the TCP connection; ``open_connections_of_host``: connections open, this one included, that have asked
  this server (same scheme, host and port) for something, when the request came.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from http import HTTPStatus
from typing import IO, TYPE_CHECKING

from tests.localweb.certificate import Certificates
from tests.localweb.content import Content, Page, plain_answer, redirect
from tests.localweb.messages import Answer, Request, ServerKey, head_of, parse_request

if TYPE_CHECKING:
    from pathlib import Path

    from tests.localweb.behaviour import Behaviour, Fault

# A request to this host returns when every earlier answer's log line is in the file. It is neither logged nor a page.
BARRIER_HOST = "barrier.localweb"
HEAD_BYTES = 256 << 10


class AccessLog:
    """Appends one line per request; nothing waits in a buffer."""

    def __init__(self, file: Path | None) -> None:
        self._file: IO[bytes] | None = file.open("ab", buffering=0) if file else None
        self._epoch_seconds = time.time() - time.monotonic()

    def now_ms(self) -> float:
        """Epoch milliseconds that never go back."""
        return round((self._epoch_seconds + time.monotonic()) * 1000, 3)

    def write(self, record: dict[str, object]) -> None:
        """Append one request."""
        if self._file:
            self._file.write(json.dumps(record).encode() + b"\n")


class Connection(asyncio.StreamReaderProtocol):
    """A client's connection. It counts as open until the client has closed it or it is lost, to the moment."""

    def __init__(self, web: WebServer, scheme: str) -> None:
        self.reader = asyncio.StreamReader(limit=HEAD_BYTES)
        super().__init__(self.reader, self._connected)
        self._web = web
        self.scheme = scheme
        self.number = 0
        self.served = 0
        self.servers: set[ServerKey] = set()
        self.gone = asyncio.Event()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._web.serve(self, reader, writer)

    def eof_received(self) -> bool | None:
        self._left()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._left()
        super().connection_lost(exc)

    def _left(self) -> None:
        if not self.gone.is_set():
            self.gone.set()
            self._web.open_connections.subtract(self.servers)


class WebServer:
    """Serves `content` the way `behaviour` says."""

    def __init__(self, content: Content, behaviour: Behaviour, log: AccessLog) -> None:
        self._content = content
        self._behaviour = behaviour
        self._log = log
        self._listeners: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._connections = 0
        self.open_connections: Counter[ServerKey] = Counter()

    async def start(self, http_port: int = 0, https_port: int = 0) -> tuple[int, int]:
        """Listen on loopback; the ports, free ones where 0 was asked for."""
        loop = asyncio.get_running_loop()
        context = Certificates().context()
        for scheme, port in (("http", http_port), ("https", https_port)):
            self._listeners.append(
                await loop.create_server(
                    lambda scheme=scheme: Connection(self, scheme),
                    "127.0.0.1",
                    port,
                    ssl=context if scheme == "https" else None,
                    backlog=1024,
                )
            )
        http, https = (listener.sockets[0].getsockname()[1] for listener in self._listeners)
        return http, https

    def stop(self) -> None:
        """Listen no more, and drop what is open."""
        for listener in self._listeners:
            listener.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def serve(self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a connection's requests one after the other until either side has enough."""
        self._connections += 1
        connection.number = self._connections
        self._writers.add(writer)
        # drain() then waits until all is with the system, which makes end_ms true. (With 0, TLS would pause on an empty buffer.)
        writer.transport.set_write_buffer_limits(high=1)
        try:
            while await self._serve_one(connection, reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client went away, or talks something that is not HTTP
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _serve_one(
        self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        start_ms = self._log.now_ms()
        request = parse_request(head, connection.scheme)
        if request is None:
            answer = plain_answer(HTTPStatus.BAD_REQUEST)
            writer.write(head_of(answer, close=True) + answer.body)
            return False
        if request.content_length:
            await reader.readexactly(request.content_length)
        if request.host == BARRIER_HOST:
            writer.write(head_of(Page(HTTPStatus.NO_CONTENT, "text/plain", b""), close=True))
            return False
        if request.server not in connection.servers and not connection.gone.is_set():
            connection.servers.add(request.server)
            self.open_connections[request.server] += 1
        connection.served += 1
        open_connections = self.open_connections[request.server]
        answer = Answer(request, writer, connection.gone)
        try:
            await self._answer(answer, connection.served)
        finally:
            self._log.write({
                "start_ms": start_ms,
                "end_ms": self._log.now_ms(),
                "host": request.host,
                "port": request.port,
                "scheme": request.scheme,
                "method": request.method,
                "path": request.target,
                "status": answer.status,
                "connection": connection.number,
                "bytes": answer.sent_bytes,
                "open_connections_of_host": open_connections,
            })  # fmt: skip
        return not answer.close

    async def _answer(self, answer: Answer, served: int) -> None:
        request = answer.request
        behaviour = self._behaviour.of(request.host)
        if behaviour.latency_ms:
            await asyncio.sleep(behaviour.latency_ms / 1000)
        answer.close = not request.keep_alive or 0 < behaviour.max_requests <= served
        fault = behaviour.fault_for(request.target)
        kind = fault.kind if fault else ""
        if fault and kind == "reset":
            answer.reset()
        elif fault and kind == "hang":
            await answer.hang(fault.seconds)
        else:
            page = self._page(request, behaviour.robots, fault)
            charset = fault.charset if fault and kind == "charset" else behaviour.charset
            if charset and page.media_type.startswith("text/"):
                page = replace(page, media_type=f"{page.media_type}; charset={charset}")
            headers = dict(fault.headers) if fault else {}
            if kind == "gzip" or (behaviour.gzip and request.accepts_gzip and page.media_type.startswith("text/")):
                page = replace(page, body=gzip.compress(page.body, 1, mtime=0))
                headers["Content-Encoding"] = "gzip"
            await answer.send(page, headers, fault)

    def _page(self, request: Request, robots: str | None, fault: Fault | None) -> Page:
        if fault and fault.kind == "status":
            return plain_answer(fault.status or HTTPStatus.SERVICE_UNAVAILABLE, fault.body)
        if fault and fault.kind == "redirect":
            return redirect(fault.status or HTTPStatus.FOUND, fault.location or request.target)
        if robots is not None and request.target == "/robots.txt":
            return Page(HTTPStatus.OK, "text/plain", robots.encode())
        return self._content.find(request.scheme, request.host, request.target)


async def run(
    content: Content,
    behaviour: Behaviour,
    *,
    http_port: int = 0,
    https_port: int = 0,
    log_file: Path | None = None,
    ready_file: Path | None = None,
    until_eof: bool = False,
) -> None:
    """Serve until SIGTERM or SIGINT; with `until_eof` also until standard input ends, that is until the parent is gone."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if until_eof:
        loop.add_reader(sys.stdin.fileno(), stopped.set)
    web = WebServer(content, behaviour, AccessLog(log_file))
    http, https = await web.start(http_port, https_port)
    ready = json.dumps({"http_port": http, "https_port": https})
    if ready_file:
        unready = ready_file.with_name(ready_file.name + ".part")
        unready.write_text(ready)
        unready.replace(ready_file)  # whoever waits for the file never sees half of it
    print(f"The local web is at http://127.0.0.1:{http} and https://127.0.0.1:{https}", flush=True)
    await stopped.wait()
    web.stop()
    await asyncio.sleep(0)  # let aborted connections end before the loop does
