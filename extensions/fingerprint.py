"""Scrapy's fingerprint of a request, by this project's canonical URLs: set it as REQUEST_FINGERPRINTER_CLASS.

16 bytes, made as `extensions.urls.fingerprints` describes: the server's half, then the URL's. What is not a plain GET has the
method and the body mixed into the second half. Headers and cookies do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mmh3 import hash_bytes

from extensions.config import Config
from extensions.urls import Canonicaliser, fingerprint, split_server
from extensions.urls.fingerprints import HALF

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler


def is_plain_get(request: Request) -> bool:
    """Whether the URL alone says what is requested."""
    return request.method == "GET" and not request.body and not request.meta.get("verbatim_url")


class CanonicalFingerprinter:
    """Two requests have the same fingerprint if their canonical URLs, methods and bodies are the same.

    A request with ``meta["verbatim_url"]`` is taken at its word: its URL counts as it is, as in Scrapy. So do URLs that are not http(s).
    """

    def __init__(self, canonicalise: Canonicaliser) -> None:
        self.canonicalise = canonicalise
        self._known: WeakKeyDictionary[Request, bytes] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """With the visit parameters of URL_DROP_PARAMETERS left out."""
        return cls(Canonicaliser(Config.from_settings(crawler.settings).drop_parameters))

    def fingerprint(self, request: Request) -> bytes:
        """The request's fingerprint. Requests do not change, so it is computed once for each."""
        known = self._known.get(request)
        if known is None:
            known = self._known[request] = self._compute(request)
        return known

    def _compute(self, request: Request) -> bytes:
        canonical = self.canonicalise(request.url)
        server, member = split_server(canonical) if canonical else (request.url.partition(":")[0], request.url)
        if is_plain_get(request):
            return fingerprint(server, member)
        url = request.url if request.meta.get("verbatim_url") or not canonical else canonical
        # NUL separates: neither a method nor a URL can hold one.
        whole = b"\0".join((request.method.encode(), url.encode(), request.body))
        return fingerprint(server, member)[:HALF] + hash_bytes(whole)[:HALF]
