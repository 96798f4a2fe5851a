"""Requests and answers of the local web on the wire: HTTP/1.1 as far as crawlers speak it, and its faults."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.localweb.content import Page, phrase

if TYPE_CHECKING:
    from tests.localweb.behaviour import Fault

ServerKey = tuple[str, str, int]  # scheme, host, port


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request, as far as this server cares."""

    method: str
    scheme: str
    host: str
    port: int
    target: str
    keep_alive: bool
    accepts_gzip: bool
    content_length: int

    @property
    def server(self) -> ServerKey:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port


class Answer:
    """One answer on its way: what was sent of it, and whether the connection ends with it."""

    def __init__(self, request: Request, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        self.request = request
        self.close = False
        self.status = 0
        self.sent_bytes = 0
        self._writer = writer
        self._gone = gone

    async def send(self, page: Page, headers: dict[str, str], fault: Fault | None) -> None:
        """Send the page, whole or as the fault has it."""
        kind = fault.kind if fault else ""
        self.close |= kind == "truncate"
        self.status = page.status
        head = head_of(page, close=self.close, headers=headers)
        body = b"" if self.request.method == "HEAD" else page.body
        if kind == "truncate":
            body = body[: len(body) // 2]
        if fault and kind == "slow":
            await self._dribble(head, body, 5.0 if fault.seconds is None else fault.seconds)
            return
        self._writer.write(head + body)
        await self._writer.drain()
        self.sent_bytes = len(body)

    async def _dribble(self, head: bytes, body: bytes, seconds: float, pieces: int = 20) -> None:
        self._writer.write(head)
        size = len(body) // pieces + 1
        for at in range(0, len(body), size):
            await asyncio.sleep(seconds / pieces)
            self._writer.write(body[at : at + size])
            await self._writer.drain()
            self.sent_bytes += len(body[at : at + size])

    async def hang(self, seconds: float | None) -> None:
        """Say nothing for so long, or until the client leaves; then close."""
        self.close = True
        try:
            async with asyncio.timeout(seconds):
                await self._gone.wait()
        except TimeoutError:
            pass

    def reset(self) -> None:
        """Drop the connection with a TCP reset."""
        self.close = True
        connection: socket.socket = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


def parse_request(head: bytes, scheme: str) -> Request | None:
    """The request that these bytes ask; None if it is none that this server understands."""
    lines = head.decode("latin-1").split("\r\n")
    method, _, rest = lines[0].partition(" ")
    target, _, version = rest.rpartition(" ")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    host = headers.get("host", "")
    if target.startswith(("http://", "https://")):  # as a proxy's client asks
        parts = urlsplit(target)
        host, target = parts.netloc, (parts.path or "/") + ("?" + parts.query if parts.query else "")
    name, _, port = host.rpartition(":") if ":" in host else (host, "", "")
    length = headers.get("content-length", "0")
    understood = target.startswith("/") and version.startswith("HTTP/1.") and length.isdigit()
    if not understood or not name or (port and not port.isdigit()) or "transfer-encoding" in headers:
        return None
    connection = headers.get("connection", "").lower()
    return Request(
        method=method,
        scheme=scheme,
        host=name.lower().rstrip("."),
        port=int(port) if port else {"http": 80, "https": 443}[scheme],
        target=target,
        keep_alive="close" not in connection and (version != "HTTP/1.0" or "keep-alive" in connection),
        accepts_gzip="gzip" in headers.get("accept-encoding", ""),
        content_length=int(length),
    )


def head_of(page: Page, *, close: bool, headers: dict[str, str] | None = None) -> bytes:
    """Status line and headers of an answer."""
    values = {"Content-Type": page.media_type, "Content-Length": str(len(page.body))}
    if page.location is not None:
        values["Location"] = page.location
    values |= headers or {}
    values["Connection"] = "close" if close else "keep-alive"
    lines = [
        f"HTTP/1.1 {page.status} {phrase(page.status)}",
        *(f"{name}: {value}" for name, value in values.items()),
        "",
        "",
    ]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")
