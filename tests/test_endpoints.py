"""Connecting to names: the short way for one address, Twisted's for more. If a new Twisted breaks these tests, `extensions/endpoints.py` must follow."""

from __future__ import annotations

import asyncio
import socket

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.internet.error import DNSLookupError
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.ssl import CertificateOptions

from extensions.endpoints import StraightEndpoint, straight


class Names:
    """A resolver that counts how often it is asked."""

    def __init__(self, reactor, *addresses):
        self.addresses, self.asked = addresses, 0
        reactor.installNameResolver(self)

    def resolveHostName(self, receiver, name, portNumber=0, **_):  # noqa: N803 - Twisted's names
        self.asked += 1
        receiver.resolutionBegan(self)
        for address in self.addresses:
            receiver.addressResolved(IPv4Address("TCP", address, portNumber))
        receiver.resolutionComplete()


@pytest.fixture
async def server():
    listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    yield listening.sockets[0].getsockname()[1]
    listening.close()


@pytest.fixture
def reactor(event_loop_of_test):
    return AsyncioSelectorReactor(event_loop_of_test)


@pytest.fixture
async def event_loop_of_test():
    return asyncio.get_running_loop()


def connect(reactor, port):
    endpoint = straight(HostnameEndpoint(reactor, b"some.test", port, 5))
    assert type(endpoint) is StraightEndpoint
    return endpoint.connect(Factory.forProtocol(Protocol)).asFuture(asyncio.get_running_loop())


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def test_a_name_with_one_address_is_resolved_once_and_met_there(reactor, server):
    names = Names(reactor, "127.0.0.1")
    protocol = await connect(reactor, server)
    assert (protocol.transport.getPeer().host, protocol.transport.getPeer().port) == ("127.0.0.1", server)
    assert names.asked == 1


async def test_a_name_with_more_addresses_is_met_at_the_one_that_answers(reactor, server):
    Names(reactor, "127.0.0.2", "127.0.0.1")
    protocol = await connect(reactor, server)
    assert protocol.transport.getPeer().host == "127.0.0.1"


async def test_a_name_without_an_address_is_an_error_at_once(reactor):
    names = Names(reactor)
    with pytest.raises(DNSLookupError, match=r"some\.test"):
        await connect(reactor, 80)
    assert names.asked == 1


async def test_a_server_that_refuses_is_the_same_error_as_ever(reactor):
    Names(reactor, "127.0.0.1")
    with pytest.raises(Refused):
        await connect(reactor, free_port())


async def test_other_endpoints_and_names_that_are_none_are_left_alone(reactor):
    direct = TCP4ClientEndpoint(reactor, "127.0.0.1", 80)
    wrong = HostnameEndpoint(reactor, b"\xff\xfe..", 80)
    assert straight(direct) is direct
    assert straight(wrong) is wrong


async def test_tls_goes_the_short_way_as_well(reactor):
    wrapped = straight(wrapClientTLS(CertificateOptions(), HostnameEndpoint(reactor, b"some.test", 443)))
    assert type(wrapped._wrappedEndpoint) is StraightEndpoint
