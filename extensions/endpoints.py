"""Connects to a server whose name has one address without the machinery for many.

Twisted's `HostnameEndpoint` races all addresses of a name against each other. Most names have one address here (Scrapy's own resolver never tells more), and there is nothing to race; the
preparations alone are half of what a connection costs, 0.18 of 0.37 ms. Where a name has more
addresses, Twisted's own way is gone, which asks the resolver once more: it remembers.

**Private doors**, pinned by ``tests/test_endpoints.py``: what a `HostnameEndpoint` was made with, and what its wrapper for TLS wraps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint, _WrapperEndpoint
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import IResolutionReceiver, IStreamClientEndpoint
from zope.interface import implementer  # type: ignore[import-untyped]  # it ships none

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress, IHostResolution, IProtocol, IProtocolFactory

ENDPOINTS = {IPv4Address: TCP4ClientEndpoint, IPv6Address: TCP6ClientEndpoint}


def straight(endpoint: Any) -> Any:
    """The endpoint, taking the short way where it can; one of another kind as it is."""
    if type(endpoint) is _WrapperEndpoint:
        endpoint._wrappedEndpoint = straight(endpoint._wrappedEndpoint)  # noqa: SLF001 - the reason is above
    elif type(endpoint) is HostnameEndpoint and not endpoint._badHostname:  # noqa: SLF001
        return StraightEndpoint(endpoint)
    return endpoint


@implementer(IResolutionReceiver)
class Addresses:
    """Collects what a name resolves to."""

    def __init__(self) -> None:
        self.found: list[IAddress] = []
        self.complete: Deferred[list[IAddress]] = Deferred()

    def resolutionBegan(self, resolutionInProgress: IHostResolution) -> None:  # noqa: N802, N803 - Twisted's names
        """Called by Twisted."""

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802
        """Called by Twisted, for each."""
        self.found.append(address)

    def resolutionComplete(self) -> None:  # noqa: N802
        """Called by Twisted."""
        self.complete.callback(self.found)


@implementer(IStreamClientEndpoint)
class StraightEndpoint:
    """Instead of a `HostnameEndpoint`."""

    def __init__(self, endpoint: Any) -> None:
        self._endpoint = endpoint

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:  # noqa: N803 - Twisted's name
        """As any endpoint does."""
        endpoint = self._endpoint
        addresses: Any = Addresses()

        def attempt(found: list[Any]) -> Any:
            if not found:
                raise DNSLookupError(f"no address for {endpoint._hostText}")  # noqa: SLF001
            known: Any = ENDPOINTS.get(type(found[0])) if len(found) == 1 else None
            if known is None:
                return endpoint.connect(protocolFactory)
            host, port = found[0].host, found[0].port
            way = known(endpoint._reactor, host, port, endpoint._timeout, endpoint._bindAddress)  # noqa: SLF001
            return way.connect(protocolFactory)

        endpoint._reactor.nameResolver.resolveHostName(addresses, endpoint._hostText, portNumber=endpoint._port)  # noqa: SLF001
        connected: Deferred[IProtocol] = addresses.complete.addCallback(attempt)
        return connected
