"""A web of one page for measurements of downloading: Twisted's own server, in a process of its own, on plain HTTP/1.1 and on TLS.

with PageWeb(body, servers=16) as web:
    web.urls("https", 100)                # over the servers in turn, no two alike
measured = web.connections, web.cpu_seconds

A *server* is a port of its own on loopback, since download handlers that are no part of Twisted do not ask Twisted for names. Over TLS the client has the choice,
by ALPN: HTTP/1.1, or HTTP/2 where the packages that Twisted needs for it are installed (h2 and priority). Of a URL that ends in ``close`` the answer
says that the server ends the connection, as far as HTTP/1.1 has a word for it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.localweb.web import PROJECT

if TYPE_CHECKING:
    from collections.abc import Sequence


class PageWeb:
    """The server process; what it has cost is known when it has ended."""

    def __init__(self, body: bytes, *, servers: int) -> None:
        self._body = body
        self._servers = servers
        self._ports: dict[str, list[int]] = {}
        self.connections = 0
        self.cpu_seconds = 0.0

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="pageweb-")
        folder = Path(self._folder.name)
        (folder / "body").write_bytes(self._body)
        command = [sys.executable, "-m", __name__, str(folder), str(self._servers)]
        self._process = subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said:
            raise RuntimeError("The web of one page did not start; what it said of it is above.")
        self._ports = json.loads(said)
        return self

    def __exit__(self, *_: object) -> None:
        said, _ = self._process.communicate()  # which ends its standard input, and so the server
        self._folder.cleanup()
        found = json.loads(said or "{}")
        self.connections, self.cpu_seconds = found.get("connections", 0), found.get("cpu_seconds", 0.0)

    def urls(self, scheme: str, count: int, *, close: bool = False) -> list[str]:
        """So many."""
        ports = self._ports[scheme]
        path = "close" if close else "keep"
        return [f"{scheme}://127.0.0.1:{ports[one % len(ports)]}/{one}/{path}" for one in range(count)]


def serve(folder: Path, servers: int) -> None:
    """Listen, say where as a line of JSON, serve until standard input ends, and say what it was."""
    from twisted.internet import reactor, ssl, stdio
    from twisted.internet.protocol import Protocol
    from twisted.web.resource import Resource
    from twisted.web.server import Site

    body = (folder / "body").read_bytes()
    connections = 0

    class Page(Resource):
        isLeaf = True  # noqa: N815 - Twisted's name

        def render_GET(self, request: Any) -> bytes:
            request.setHeader("content-type", "text/html; charset=utf-8")
            if request.path.endswith(b"close") and request.clientproto == b"HTTP/1.1":
                request.setHeader("connection", "close")
            return body

    class CountingSite(Site):
        def buildProtocol(self, addr: Any) -> Any:
            nonlocal connections
            connections += 1
            return super().buildProtocol(addr)

    class Parent(Protocol):
        def connectionLost(self, *_: Any) -> None:
            loop.stop()

    loop: Any = reactor
    site = CountingSite(Page())
    certificate: Any = ssl.KeyPair.generate(size=2048).selfSignedCert(1, CN="localhost")  # type: ignore[no-untyped-call]
    ports: dict[str, list[int]] = {"http": [], "https": []}
    for _ in range(servers):
        ports["http"].append(loop.listenTCP(0, site, interface="127.0.0.1").getHost().port)
        listening = loop.listenSSL(0, site, certificate.options(), interface="127.0.0.1")
        ports["https"].append(listening.getHost().port)
    stdio.StandardIO(Parent(), stdout=sys.stderr.fileno())
    print(json.dumps(ports), flush=True)
    began = time.process_time()
    loop.run()
    print(json.dumps({"connections": connections, "cpu_seconds": time.process_time() - began}))


def main(arguments: Sequence[str] | None = None) -> None:
    """The server process."""
    folder, servers = arguments or sys.argv[1:]
    serve(Path(folder), int(servers))


if __name__ == "__main__":
    main()
