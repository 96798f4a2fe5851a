"""Leads a Scrapy crawl to the local web: every host name resolves to loopback, every port to one of the local server's.

``TWISTED_DNS_RESOLVER = "tests.localweb.resolver.LocalWebResolver"`` (or ``DNS_RESOLVER``, its older name), with
``LOCALWEB_HTTP_PORT`` and ``LOCALWEB_HTTPS_PORT``. URLs, Host headers and connection pools keep the true names, because Twisted
connects to whichever address *and port* the resolver returns. Port 443 leads to the https port, any other to the http port. Hosts
in ``LOCALWEB_UNRESOLVABLE`` do not resolve; literal addresses and ``localhost`` go to the resolver that was there before.
"""

# ruff: noqa: N803 - the arguments are called as Twisted's interface, and so its callers, call them

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, Self

from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IHostResolution,
)
from zope.interface import implementer  # type: ignore[import-untyped]  # it ships none

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from scrapy.crawler import Crawler


@implementer(IHostResolution)
class Resolution:
    """A resolution that is over before anybody could cancel it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None:
        """Nothing is under way."""


@implementer(IHostnameResolver)
class LocalWebResolver:
    """Resolves host names to the local web, at once. (zope's interfaces mean nothing to mypy, hence the `Any`s.)"""

    def __init__(self, reactor: Any, http_port: int, https_port: int, unresolvable: Collection[str]) -> None:
        self._reactor = reactor
        self._before = reactor.nameResolver
        self._http_port = http_port
        self._https_port = https_port
        self._unresolvable = frozenset(name.lower() for name in unresolvable)

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> Self:
        """Made by Scrapy when it starts the reactor; `crawler` is anything that has settings."""
        settings = crawler.settings
        return cls(
            reactor,
            settings.getint("LOCALWEB_HTTP_PORT"),
            settings.getint("LOCALWEB_HTTPS_PORT"),
            settings.getlist("LOCALWEB_UNRESOLVABLE"),
        )

    def install_on_reactor(self) -> None:
        """Take over name resolution."""
        self._reactor.installNameResolver(self)

    def resolveHostName(
        self,
        resolutionReceiver: Any,
        hostName: str,
        portNumber: int = 0,
        addressTypes: Sequence[type[IAddress]] | None = None,
        transportSemantics: str = "TCP",
    ) -> Any:
        """Tell the receiver the one address, or none if the host is to be unknown."""
        if hostName == "localhost" or _is_address(hostName):
            return self._before.resolveHostName(
                resolutionReceiver, hostName, portNumber, addressTypes, transportSemantics
            )
        resolution = Resolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)
        if hostName.lower() not in self._unresolvable:
            port = self._https_port if portNumber == 443 else self._http_port
            resolutionReceiver.addressResolved(IPv4Address("TCP", "127.0.0.1", port))
        resolutionReceiver.resolutionComplete()
        return resolution


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
