"""The canonical spelling of a URL. The rules are the package's; here they meet, and here it is made fast.

Most links of the web are canonical already but for a fragment. One expression recognises them, in a microsecond or two;
whatever it does not recognise takes the careful way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from extensions.urls.hosts import LONGEST_NAME, canonical_server
from extensions.urls.parameters import VisitParameters
from extensions.urls.paths import canonical_path
from extensions.urls.queries import canonical_query

if TYPE_CHECKING:
    from collections.abc import Iterable

_CANONICAL = re.compile(
    r"""
    ( https?://
      (?: [a-z0-9_-]{1,63}+ \. )*+ [a-z] [a-z0-9_-]{0,62}+      # a last label that begins with a digit may be an address's
      (?: / (?!\.) (?: [A-Za-z0-9_~!$&'()*+,=:@.-]++ | %(?: [89A-F][0-9A-F] | 2[05F] ) )*+ )++
    )
    (?: \? ([^#\x00-\x20\x7f-\U0010ffff]*) )?+
    (?: \# .* )?+
    """,
    re.VERBOSE | re.DOTALL,
)
_PARTS = re.compile(r"(https?):[/\\]*([^/\\?#]*)([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_AROUND = "".join(map(chr, range(0x21)))
_WITHIN = re.compile(r"[\t\n\r]")


class Canonicaliser:
    """Gives URLs that mean the same page the same spelling. Idempotent, and its results are what Scrapy requests as they are."""

    __slots__ = ("_dropped",)

    def __init__(self, drop_parameters: Iterable[str]) -> None:
        """`drop_parameters`: names of parameters that name a visit, case ignored, ``*`` at the end for any ending."""
        self._dropped = VisitParameters(drop_parameters)

    def __call__(self, url: str) -> str | None:
        """The canonical spelling of an absolute URL; None if it is nothing that can be crawled. Never raises."""
        parts = _CANONICAL.fullmatch(url)
        # A name longer than DNS allows hides in a long URL only, so the expression need not count.
        if parts is None or len(url) > LONGEST_NAME:
            return self._carefully(url)
        page, query = parts.groups()
        if query and (query := canonical_query(query, self._dropped)):
            return f"{page}?{query}"
        return page

    def _carefully(self, url: str) -> str | None:
        url = _WITHIN.sub("", url.strip(_AROUND))
        if not url.isascii():
            # A lone surrogate is no character: it becomes the replacement character, as in a browser.
            url = url.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        parts = _PARTS.match(url)
        if parts is None:
            return None
        scheme, authority, path, query = parts.groups()
        server = canonical_server(scheme.lower(), authority.rpartition("@")[2])
        if server is None:
            return None
        page = server + canonical_path(path, self._dropped)
        if query and (query := canonical_query(query, self._dropped)):
            return f"{page}?{query}"
        return page
