"""A query with its parameters in one order and spelling, and without those that name a visit.

Parameters are sorted by their decoded name, then value, byte by byte, as w3lib does. Within a query the characters that form
encoding escapes needlessly stand for themselves (``title=Special:Search``): a server that decodes sees no difference, and one
that takes the query as it is (``wiki.cgi?StandardLib``, ``gitweb.cgi?p=a.git;a=log``) still understands it.
A space is ``+``. Empty parameters (``a&&b``) go; ``a`` and ``a=`` are kept as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from extensions.urls.escapes import Escapes

if TYPE_CHECKING:
    from extensions.urls.parameters import VisitParameters

_respell = Escapes(safe="!$()*,:@/?;&=+", kept="&=+", space="+")


def canonical_query(query: str, dropped: VisitParameters) -> str:
    """The query, without its question mark, in its one spelling; empty if nothing is left."""
    query = _respell(query)
    kept = []
    for part in query.split("&"):
        name, equals, value = part.partition("=")
        if part and name not in dropped:
            # Only the first "=" separates, so in the value an escaped one means the same as a bare one.
            kept.append((name, value.replace("%3D", "=") if "%" in value else value, equals))
    if len(kept) > 1:
        if "%" in query or "+" in query:
            kept.sort(key=_decoded)
        else:
            kept.sort()
    return "&".join([name + equals + value for name, value, equals in kept])


def _decoded(parameter: tuple[str, str, str]) -> tuple[bytes, bytes, str]:
    name, value, equals = parameter
    return unquote_to_bytes(name.replace("+", " ")), unquote_to_bytes(value.replace("+", " ")), equals
