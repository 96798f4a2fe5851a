"""Pages that would take an HTML parser minutes: recognised in microseconds, and made flat.

An HTML parser searches its stack of open elements for almost every tag, and each attribute among those before it. So 100,000 nested elements
(half a megabyte) keep lexbor busy for 20 to 80 seconds, and 100,000 attributes of one tag for 30. No page that people read
is like that; a trap or a broken generator is.
"""

from __future__ import annotations

import re

MAX_OPEN = 5_000
"""Start tags that may be open at once, void ones included. At this depth lexbor takes some tens of milliseconds."""

_WINDOW = 16_384
_MANY_WORDS = _WINDOW // 64

_TAGS = re.compile(
    rb"<(?!/?(?:a|area|title|base|meta|link|script|style|head|body|html)\b)[^<>]*>|<[^<>]{4096,}>", re.IGNORECASE
)


def is_wild(body: bytes) -> bool:
    """True if so many elements seem to be open at one place, or one tag has so many attributes, that parsing takes too long.

    May be wrong about a page with thousands of line breaks, which does no harm: see `tame`. Takes 50 µs per 100 KB.
    """
    return (body.count(b"<") > MAX_OPEN and _opens_too_many(body)) or _has_long_tag(body)


def _opens_too_many(body: bytes) -> bool:
    surplus = 0
    for start in range(0, len(body), _WINDOW):
        end = start + _WINDOW
        surplus += body.count(b"<", start, end) - 2 * body.count(b"</", start, end)
        if surplus > MAX_OPEN:
            return True
    return False


def _has_long_tag(body: bytes) -> bool:
    """True if a tag is longer than two windows and made of many words.

    Such a tag spans a window without any end of a tag; long texts, scripts and embedded images do too, hence the closer look.
    """
    opening = -1
    for start in range(0, len(body), _WINDOW):
        end = start + _WINDOW
        if (
            opening >= 0
            and body.find(b">", start, end) < 0
            and body[opening + 1 : opening + 2].isalpha()
            and len(body[start:end].split()) > _MANY_WORDS
        ):
            return True
        opening = max(opening, body.rfind(b"<", start, end))
    return False


def tame(body: bytes) -> bytes:
    """The page with only those tags that carry links, title and declarations; every other one becomes a line break.

    Takes linear time, and keeps all links and all text; what is lost is which part of the text is navigation.
    """
    return _TAGS.sub(b"<br>", body)
