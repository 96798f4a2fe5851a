"""TLS: what connections share, and what they must not. If a new Scrapy or Twisted breaks these tests, `extensions/tls.py` must follow."""

from __future__ import annotations

import pytest
from scrapy.core.downloader.contextfactory import _load_context_factory_from_settings, _ScrapyClientContextFactory
from scrapy.utils._deps_compat import TWISTED_TLS_NEW_IMPL
from scrapy.utils.test import get_crawler
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import StringTransport
from twisted.protocols.tls import TLSMemoryBIOFactory

from extensions.tls import NAMES, share_context


def policy(**settings):
    """Scrapy's, as its handler makes it, and then shared."""
    made = _load_context_factory_from_settings(get_crawler(settings_dict=settings))
    share_context(made)
    return made


def connect(policy, name, offer=()):
    """OpenSSL's end of a connection to that server, with its greeting written."""
    creator = policy.creatorForNetloc(name, 443)
    factory = Factory.forProtocol(Protocol)
    factory.acceptableProtocols = lambda: list(offer)
    protocol = TLSMemoryBIOFactory(creator, isClient=True, wrappedFactory=factory).buildProtocol(None)
    protocol.makeConnection(StringTransport())
    return protocol.getHandle()


@pytest.mark.skipif(not TWISTED_TLS_NEW_IMPL, reason="this Twisted ties a context to a server")
def test_connections_to_different_servers_share_one_context_and_not_their_names():
    shared = policy()
    first, second, again = (connect(shared, name) for name in (b"one.test", b"two.test", b"one.test"))
    assert first.get_context() is second.get_context() is again.get_context()
    assert [one.get_servername() for one in (first, second, again)] == [b"one.test", b"two.test", b"one.test"]


def test_crawlers_share_nothing():
    assert connect(policy(), b"one.test").get_context() is not connect(policy(), b"one.test").get_context()


def test_a_crawl_that_verifies_certificates_is_left_as_scrapy_has_it():
    verifying = policy(DOWNLOAD_VERIFY_CERTIFICATES=True)
    one, other = (connect(verifying, name) for name in (b"one.test", b"two.test"))
    assert one.get_context() is not other.get_context()


def test_settings_of_tls_are_kept():
    connection = connect(policy(DOWNLOADER_CLIENT_TLS_CIPHERS="ECDHE-RSA-AES128-GCM-SHA256"), b"one.test")
    older = [name for name in connection.get_cipher_list() if not name.startswith("TLS_")]
    assert older == ["ECDHE-RSA-AES128-GCM-SHA256"]


@pytest.mark.skipif(not TWISTED_TLS_NEW_IMPL, reason="left as Scrapy has it")
def test_no_more_servers_than_a_bound_stay_prepared():
    shared = policy()
    for number in range(NAMES + 10):
        shared.creatorForNetloc(b"s%d.test" % number, 443)
    assert shared.creatorForNetloc.cache_info().currsize == NAMES


def test_the_private_doors_are_where_they_were():
    plain = _load_context_factory_from_settings(get_crawler())
    assert type(plain) is _ScrapyClientContextFactory
    assert plain._verify_certificates is False
    assert plain._get_cert_options() is not plain._get_cert_options()
