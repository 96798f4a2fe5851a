"""Requests as bytes and back: msgpack, never pickle, and only what differs from a plain GET.

A plain GET needs no bytes at all: its URL, depth, quality and hops are in the URL queue itself. What else a request carries
(callback, errback, method, body, headers, cookies, meta, cb_kwargs, priority, flags, encoding) is kept as it is; tuples, sets and
datetimes come back as what they were.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import msgpack
from scrapy import Request
from scrapy.utils.request import request_from_dict

from extensions.errors import UnserialisableRequest
from extensions.topicmeta import KEY, TopicMeta

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

    from extensions.frontier.records import LeasedUrl

RESTORED = frozenset({"depth", KEY, "download_slot", "download_latency"})
"""Meta keys that the queue restores, or that meant something only to one download."""

REFERER = b"Referer"
VERBATIM = "verbatim_url"


def payload_of(request: Request, spider: Spider, *, opaque: bool) -> bytes:
    """What must be kept of a request beside its place in the queue; with `opaque` its URL too.

    Raises `UnserialisableRequest`, naming the request and the part.
    """
    referrer = TopicMeta.of(request).referrer
    parts: dict[str, Any] = {"r": referrer} if referrer else {}
    if opaque or not is_plain(request):
        parts |= _parts(request, spider)
        if not opaque:
            del parts["url"]
    return _pack(parts, request) if parts else b""


def is_plain(request: Request) -> bool:
    """Whether its URL is all there is to it."""
    return (
        type(request) is Request
        and request.method == "GET"
        and not request.body
        and request.callback is None
        and request.errback is None
        and not request.cookies
        and not request.cb_kwargs
        and not request.flags
        and not request.priority
        and not (request.headers.keys() - {REFERER})
        and not (request.meta.keys() - RESTORED)
    )


def request_of(server: str, url: LeasedUrl, spider: Spider) -> Request:
    """The request of a leased URL, ready to be downloaded."""
    parts: dict[str, Any] = msgpack.unpackb(url.payload, ext_hook=_restore, strict_map_key=False) if url.payload else {}
    referrer = parts.pop("r", "")
    plain = not parts
    parts.setdefault("url", server + url.member)
    meta = parts.setdefault("meta", {})
    meta["depth"] = url.depth
    meta["download_slot"] = server
    TopicMeta(url.quality, url.hops, referrer).put(meta)
    if plain:
        # A canonical URL is safe as it is; to have Scrapy make it so again is half of the work here. What it redirects to is not.
        meta[VERBATIM] = True
        request = Request(**parts)
        del request.meta[VERBATIM]
    else:
        request = request_from_dict(parts, spider=spider)
    if referrer:
        request.headers.setdefault(REFERER, referrer)
    return request


def _parts(request: Request, spider: Spider) -> dict[str, Any]:
    try:
        parts = request.to_dict(spider=spider)
    except ValueError as error:  # a callback that is no method of the spider
        raise UnserialisableRequest(f"{request} cannot be queued: {error}") from error
    plain = {"method": "GET", "body": b"", "encoding": "utf-8", "priority": 0, "dont_filter": False}
    parts["meta"] = {name: value for name, value in parts["meta"].items() if name not in RESTORED}
    headers = parts["headers"]
    parts["headers"] = {
        name: headers[name] for name in headers if name != REFERER or not TopicMeta.of(request).referrer
    }
    return {
        name: value
        for name, value in parts.items()
        if name == "url" or (value != plain[name] if name in plain else bool(value))
    }


def _pack(parts: dict[str, Any], request: Request) -> bytes:
    try:
        packed: bytes = msgpack.packb(parts, default=_replace, strict_types=True)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        for name, part in parts.items():
            for key, value in part.items() if isinstance(part, dict) else [("", part)]:
                try:
                    msgpack.packb(value, default=_replace, strict_types=True)
                except (TypeError, ValueError, OverflowError, RecursionError) as reason:
                    where = f"{name}[{key!r}]" if key else name
                    raise UnserialisableRequest(f"{request} cannot be queued: {where} holds {reason}") from error
        raise UnserialisableRequest(f"{request} cannot be queued: {error}") from error
    return packed


def _replace(value: Any) -> Any:
    """What msgpack does not know: the few types that are worth keeping, and an error for the rest."""
    for code, kind, content_of, _ in KEPT:
        if isinstance(value, kind):
            return msgpack.ExtType(code, msgpack.packb(content_of(value), default=_replace, strict_types=True))
    if isinstance(value, (str, dict)):  # subclasses: a StrEnum, a defaultdict
        return str(value) if isinstance(value, str) else dict(value)
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__}, which only exists in this process")


def _restore(code: int, content: bytes) -> Any:
    value = msgpack.unpackb(content, ext_hook=_restore, strict_map_key=False)
    for known, _, _, restore in KEPT:
        if known == code:
            return restore(value)
    raise ValueError(f"a value of the unknown type {code}, queued by another version of this project")


KEPT: tuple[tuple[int, type, Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    (1, tuple, list, tuple),
    (2, frozenset, list, frozenset),
    (3, set, list, set),
    (4, datetime, datetime.isoformat, datetime.fromisoformat),
    (5, date, date.isoformat, date.fromisoformat),
)
"""Types that cross as what they are: code, type, what is packed of a value, and the way back."""
