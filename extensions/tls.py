"""One OpenSSL context for all TLS connections of a crawler, where Scrapy makes one for each.

What Scrapy sets in a context is the same for every server; the server's name, the check of its certificate and the protocols on offer belong to a connection. Making
a context means reading OpenSSL's list of ciphers twice, about a tenth of what opening a connection costs, and Scrapy prepares for it at each request, also
where a connection is at hand.

Left as it is: with ``DOWNLOAD_VERIFY_CERTIFICATES``, where Twisted makes the context; and on Twisted before 26.4, which ties a context to one server's name.

**Private doors**, pinned by ``tests/test_tls.py``: the ``_get_cert_options`` and ``_verify_certificates`` of Scrapy's context factory, and its word for the new Twisted.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from scrapy.utils._deps_compat import TWISTED_TLS_NEW_IMPL

if TYPE_CHECKING:
    from twisted.web.iweb import IPolicyForHTTPS

NAMES = 1024
"""Servers whose name and port stay prepared."""


def share_context(policy: IPolicyForHTTPS) -> None:
    """Have Scrapy's policy for https prepare its context once, and each server once as long as it is among the latest `NAMES`."""
    factory: Any = policy
    if TWISTED_TLS_NEW_IMPL and not getattr(factory, "_verify_certificates", True):
        factory._get_cert_options = cache(factory._get_cert_options)  # noqa: SLF001 - the reason is above
        factory.creatorForNetloc = lru_cache(NAMES)(factory.creatorForNetloc)
