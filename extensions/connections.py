"""Connections that last as long as the lease of their server, carry nothing without one, and are measured.

Scrapy's own HTTP/1.1 download handler, with another connection pool in it. A *server* (scheme, host, port) has one connection at most:

- **Fence.** When a request could be written (names resolved, connected, TLS agreed, or a cached connection at hand), the scheduler is
  asked ``may_send(request)``. If it says no, the connection is closed and the request fails with `LeaseLost`, without one byte of it
  sent. So an agent that was paused between its decision to fetch and the sending never meets another agent at a server. Twisted alone would
  hand the request to TLS before the handshake is over; here it waits for the handshake.
- **Measure.** The scheduler is told ``connected(request, milliseconds)``, for DNS, TCP and TLS together, before the first request of a
  connection is sent, and ``disconnected(request, carried)`` when the *server* ends a connection, by closing it or with ``Connection: close``:
  `request` is the last that was answered, `carried` how many were. ``disconnected`` for ``Connection: close`` comes before
  Scrapy's signal that the request has left the downloader. What this side closes (forgotten, cut short, timed out) is not told.
  Stats: ``connections/opened``, ``connections/requests`` (sent; their ratio is requests per connection), ``connections/lease_lost``.
- **Persist and let go.** An idle connection stays until the server closes it, `Connections.forget` does, or `IDLE_SECONDS` are over.
  One that the server closed in the meantime costs a GET or HEAD no failure: it is sent once more on a new connection, by leave of the fence.

A scheduler without these methods is neither asked nor told. Plain HTTP through a proxy shares one idle connection for each proxy, as in Scrapy;
it is the proxy's, so `forget` leaves it alone.

HTTP/2 is not spoken. What it saves, requests that wait for each other, does not happen with one request at a time at a server; and in Python it costs
more time of the processor for each page than HTTP/1.1 does over the same TLS (``tests/benchmarks/handlers.py`` measures it).

**Private doors**, pinned by ``tests/test_connections.py``: the handler's ``_pool`` and ``_contextFactory``; Scrapy's ``_LenientHTTP11ClientProtocol``, whose request is
sent by `request` and whose `state` is ``QUIESCENT`` between requests; Twisted's ``_RetryingHTTP11ClientProtocol``;
and what `tls`, `endpoints` and `writing` name. requirements.txt bounds both.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler, _LenientHTTP11ClientProtocol
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred, fail, gatherResults, succeed
from twisted.internet.error import ConnectionAborted
from twisted.internet.interfaces import IHandshakeListener, ISSLTransport
from twisted.internet.protocol import Factory, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import HTTPConnectionPool, ResponseNeverReceived, _RetryingHTTP11ClientProtocol
from zope.interface import implementer  # type: ignore[import-untyped]  # it ships none

from extensions.endpoints import straight
from extensions.tls import share_context
from extensions.urls import host_port
from extensions.writing import written_at_once

if TYPE_CHECKING:
    from collections.abc import Hashable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.interfaces import IAddress, IStreamClientEndpoint
    from twisted.web._newclient import HTTP11ClientProtocol
    from twisted.web._newclient import Request as WireRequest
    from twisted.web.iweb import IResponse

IDLE_SECONDS = 240.0
"""A connection that nobody forgets is closed after so long without a request: Twisted's own bound."""


class LeaseLost(IgnoreRequest):
    """The request was not sent: the lease of its server is over. An IgnoreRequest, which is neither tried again nor logged."""


class Interrupted(IgnoreRequest):
    """The crawl is closing and does not wait for this download any longer. Neither tried again nor logged, either."""


class Exchange:
    """One download: its request, the connection it is on, and the scheduler as far as that wants to know."""

    def __init__(self, request: Request, crawler: Crawler) -> None:
        self.request = request
        self.connection: Connection | None = None
        self._scheduler: Any = getattr(crawler.engine, "scheduler", None)
        self._stats = crawler.stats

    @property
    def server(self) -> Hashable | None:
        """Scheme, host and port of whoever is at the other end; None for a proxy, which is there for many servers."""
        url = urlparse_cached(self.request)
        if self.request.meta.get("proxy") and url.scheme == "http":
            return None
        return url.scheme, url.hostname, url.port or (443 if url.scheme == "https" else 80)

    def may_send(self) -> bool:
        """The fence."""
        return bool(self._ask("may_send", self.request, otherwise=True))

    def connected(self, seconds: float) -> None:
        """A connection was opened for this request."""
        self._ask("connected", self.request, seconds * 1000)

    def disconnected(self, carried: int) -> None:
        """The server ended the connection after the answer to this request."""
        self._ask("disconnected", self.request, carried)

    def count(self, what: str) -> None:
        """Into Scrapy's stats."""
        if self._stats is not None:
            self._stats.inc_value(f"connections/{what}")

    def over(self) -> None:
        """Scrapy has its answer, or an error. A connection that did not become idle with it is of no more use."""
        connection = self.connection
        if connection is not None and connection.exchange is self and not connection.idle:
            connection.finish()

    def _ask(self, method: str, *arguments: Any, otherwise: Any = None) -> Any:
        known = getattr(self._scheduler, method, None)
        return otherwise if known is None else known(*arguments)


@implementer(IHandshakeListener)
class Connection(_LenientHTTP11ClientProtocol):
    """A connection and what it has carried. `exchange` is the download that it is opened for or used by, or was last."""

    def __init__(self, pool: Connections, key: Hashable, exchange: Exchange) -> None:
        super().__init__(pool.idle_again)  # type: ignore[no-untyped-call]
        self.pool = pool
        self.key = key
        self.place = exchange.server or key
        self.exchange = exchange
        self.idle = False
        self.wanted = True
        """False once it was forgotten: it is closed as soon as it is idle."""
        self._gone = False
        self._carried = 0
        self._answered: Exchange | None = None
        self._opened_in: float | None = None
        self._agreed = False
        self._agreement: Deferred[None] | None = None

    # Opening

    def handshakeCompleted(self) -> None:  # noqa: N802 - Twisted's name
        """TLS is agreed. Called by Twisted, for TLS only."""
        self._agreed = True
        if self._agreement is not None:
            waiting, self._agreement = self._agreement, None
            waiting.callback(None)

    def opened(self, began: float) -> Deferred[Connection]:
        """Itself, when requests can be sent."""
        ready: Deferred[None] = succeed(None)
        if ISSLTransport.providedBy(self.transport) and not self._agreed:
            ready = self._agreement = Deferred(self._given_up)

        def measured(_: None) -> Connection:
            self._opened_in = monotonic() - began
            self.exchange.count("opened")
            return self

        return ready.addCallback(measured)

    def _given_up(self, _: Deferred[None]) -> None:
        self.let_go()

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        return bool(self.state == "QUIESCENT" and not self._disconnecting)

    # Carrying

    def use_for(self, exchange: Exchange) -> None:
        """The next request is this one's."""
        self.exchange = exchange
        exchange.connection = self

    def request(self, request: WireRequest) -> Deferred[IResponse]:
        """Send it, by leave of the scheduler."""
        exchange = self.exchange
        if not exchange.may_send():
            exchange.count("lease_lost")
            self.let_go()
            return fail(LeaseLost(f"The lease of its server is over, so it was not sent: {exchange.request.url:.200}"))
        if self._opened_in is not None:
            exchange.connected(self._opened_in)
            self._opened_in = None
        exchange.count("requests")

        def answered(response: IResponse) -> IResponse:
            self._carried += 1
            self._answered = exchange
            return response

        with written_at_once(self.transport):
            # Before Scrapy's own callbacks: the body of a short answer may be complete with its head.
            sent: Deferred[IResponse] = super().request(request).addCallback(answered)
        return sent

    # Closing

    def finish(self) -> None:
        """The exchange is over and the connection has not become idle: the server wants it closed, or the answer was cut short."""
        if self.state == "QUIESCENT":
            self._server_ends_it()
        # Twisted is closing it already, but TLS would wait for the server's consent, and meanwhile the next connection may be open.
        self.let_go()

    def let_go(self) -> Deferred[None]:
        """Close it now, if it is not closed yet; fires when it is closed. Not told as the server's doing."""
        closed: Deferred[None] = self.abort()  # type: ignore[no-untyped-call]
        if self.transport is not None and not self._gone:  # what is left of TLS then cannot be closed
            self.transport.abortConnection()
        return closed

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802 - Twisted's name
        """It is closed. Called by Twisted, once."""
        # In the middle of an answer this side closes by `loseConnection` or by an abort; a server may, to mark the answer's end.
        # Between requests only a server's wish makes Twisted close, since our own closing goes by `let_go`.
        cut_here = isinstance(reason.value, ConnectionAborted) or (self.state != "QUIESCENT" and self._disconnecting)
        if not cut_here and self.state != "ABORTING":
            self._server_ends_it()
        self._gone = True
        super().connectionLost(reason)  # type: ignore[no-untyped-call]
        self.pool.gone(self)
        if self._agreement is not None:
            waiting, self._agreement = self._agreement, None
            # What it is without waiting, when a request is on its way already.
            waiting.errback(Failure(ResponseNeverReceived([reason])))  # type: ignore[no-untyped-call]

    @property
    def _disconnecting(self) -> bool:
        return bool(getattr(self.transport, "disconnecting", False))

    def _server_ends_it(self) -> None:
        carried, self._carried = self._carried, 0
        if self._answered is not None and carried:
            self._answered.disconnected(carried)


class ConnectionFactory(Factory):
    """Makes one connection, for one exchange."""

    noisy = False

    def __init__(self, pool: Connections, key: Hashable, exchange: Exchange) -> None:
        self._make = partial(Connection, pool, key, exchange)

    def buildProtocol(self, addr: IAddress | None) -> Connection:  # noqa: ARG002, N802 - Twisted's signature
        """Called by Twisted."""
        return self._make()


class Connections(HTTPConnectionPool):
    """All connections of a crawler. Invariant: at one place (server or proxy) at most one is idle; no closed one is."""

    def __init__(self) -> None:
        from twisted.internet import reactor  # not before Scrapy has installed the one it wants

        super().__init__(reactor, persistent=True)  # type: ignore[no-untyped-call]
        self._clock: Any = reactor
        self._open: set[Connection] = set()
        self._idle: dict[Hashable, tuple[Connection, float]] = {}
        """By place, since when; whoever has been idle longest comes first."""
        self._alarm: Any = None

    @classmethod
    def of(cls, crawler: Crawler) -> Connections:
        """The crawler's connections: the same object for its scheduler and its handlers, http and https."""
        if (connections := _connections.get(crawler)) is None:
            connections = _connections[crawler] = cls()
        return connections

    def forget(self, server: str) -> None:
        """Close the server's connection: at once if it is idle, else as soon as it is. `server` as in a lease: ``https://example.org``."""
        place = (server.partition("://")[0], *host_port(server))
        for connection in [each for each in self._open if each.place == place]:
            connection.wanted = False
            if connection.idle:
                self._take(place)
                connection.let_go()

    # What Twisted's agents call

    def getConnection(self, key: Hashable, endpoint: IStreamClientEndpoint) -> Deferred[HTTP11ClientProtocol]:  # noqa: N802
        """A connection for the request that is being downloaded. `key` tells connections apart that must not serve for each other."""
        exchange = _downloading.get()
        connection = self._take(exchange.server or key)
        if connection is not None:
            if connection.key == key and connection.usable:
                connection.use_for(exchange)
                again = partial(self._connect, key, endpoint, exchange)
                retrying: Any = _RetryingHTTP11ClientProtocol(connection, again)  # type: ignore[no-untyped-call]
                return succeed(retrying)
            connection.let_go()
        return self._connect(key, endpoint, exchange)

    def closeCachedConnections(self) -> Deferred[None]:  # noqa: N802 - Twisted's name
        """Close all of them, those in use as well; fires when they are closed."""
        for place in list(self._idle):
            self._take(place)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        closed = gatherResults([connection.let_go() for connection in list(self._open)])
        return closed.addCallback(lambda _: None)

    # What connections call

    def idle_again(self, connection: HTTP11ClientProtocol) -> None:
        """A request was answered, and the server has nothing against another."""
        assert isinstance(connection, Connection)
        other = self._take(connection.place)
        if other is not None:
            other.let_go()
        if not (connection.wanted and connection.usable):  # Scrapy may have cut an answer that was all there already
            connection.let_go()
            return
        connection.idle = True
        self._idle[connection.place] = connection, monotonic()
        if self._alarm is None:
            self._alarm = self._clock.callLater(IDLE_SECONDS, self._end_the_idle)

    def gone(self, connection: Connection) -> None:
        """It is closed, by whomever."""
        self._open.discard(connection)
        if connection.idle:
            self._take(connection.place)

    def _connect(self, key: Hashable, endpoint: Any, exchange: Exchange) -> Deferred[Any]:
        began = monotonic()

        def opened(connection: Connection) -> Deferred[Connection]:
            self._open.add(connection)
            connection.use_for(exchange)
            return connection.opened(began)

        connecting: Deferred[Connection] = straight(endpoint).connect(ConnectionFactory(self, key, exchange))
        return connecting.addCallback(opened)

    def _take(self, place: Hashable) -> Connection | None:
        if place not in self._idle:
            return None
        connection, _ = self._idle.pop(place)
        connection.idle = False
        return connection

    def _end_the_idle(self) -> None:
        """One alarm for all: it goes off when the connection that had been idle longest may have been so for long enough."""
        self._alarm = None
        now = monotonic()
        for place, (connection, since) in list(self._idle.items()):
            if since + IDLE_SECONDS > now:
                self._alarm = self._clock.callLater(since + IDLE_SECONDS - now, self._end_the_idle)
                return
            self._take(place)
            connection.let_go()


_connections: WeakKeyDictionary[Crawler, Connections] = WeakKeyDictionary()
# Scrapy builds scheduler and handlers apart from each other; what they share hangs on the crawler, and goes with it.

_downloading: ContextVar[Exchange] = ContextVar("_downloading")
# Scrapy's agent asks the pool for a connection by key alone; the pool must know for which request.


class ConnectionHandler(HTTP11DownloadHandler):
    """Scrapy's handler for http and https on the crawler's `Connections`."""

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pool = Connections.of(crawler)
        share_context(self._contextFactory)

    async def download_request(self, request: Request) -> Response:
        """Raises `LeaseLost` if the scheduler forbids, and what Scrapy's own handler raises."""
        exchange = Exchange(request, self._crawler)
        _downloading.set(exchange)
        try:
            return await super().download_request(request)
        finally:
            exchange.over()
