"""Bytes of a page as text, also where the declared charset is wrong.

The order of belief: a byte order mark; UTF-8, whose rules text in another encoding keeps only by accident; what the HTTP header and the page
itself declare, if the result `plausible` reads like a language; what reads like Chinese, Japanese, Korean or a language in Latin letters; and
what the bytes look like to bs4's detector, which asks charset-normalizer. Nearly every page is settled by the first two steps within
some microseconds; only the last one takes milliseconds, as it reads no more than `SAMPLE` bytes.

Nothing here raises: bytes that no encoding explains become U+FFFD.
"""

from __future__ import annotations

import codecs
import re

from extensions.pages.plausible import JAPANESE, LATIN, WIDE, latin_share, reads_like_a_language

SAMPLE = 32_768
"""Bytes, markup left out, that a guess looks at."""

BROKEN = 0.05
"""Bad sequences among the non-ASCII ones up to which an encoding still holds: one stray byte does not undo a page."""

# The longer marks first: UTF-32's little-endian one begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# Labels mean what browsers take them to mean (https://encoding.spec.whatwg.org/#names-and-labels): the superset in use.
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "shift_jis_2004": "cp932",
    "euc_kr": "cp949",
}
# A detector also knows the encodings of DOS and of mainframes, and finds them in pages with two odd bytes.
_ON_THE_WEB = re.compile("cp1?125|cp866|cp874|iso8859|koi8|mac.cyr")
_MANY_ZEROS = 16
_SEVEN_BIT = {"iso2022_jp", "iso2022_kr", "hz"}

_META = re.compile(
    rb"""<(?:meta|\?xml)\b[^>]{0,300}?(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""", re.IGNORECASE
)
_META_WITHIN = 4096  # the standard stops looking after 1,024 bytes; real pages put comments and scripts first
_MARKUP = re.compile(rb"<script\b.*?</script|<style\b.*?</style|<[^<>]*>|[\x00-\x20]+", re.IGNORECASE | re.DOTALL)


def decode(body: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text of `body`, and the name of the codec that made it.

    `declared` is the charset of the HTTP header, right or wrong; what the page itself declares is read from its head.
    """
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return body.decode(codec, "replace"), codec
    if body.count(0, 0, 64) > _MANY_ZEROS:  # UTF-16 without a mark: markup and spaces have one zero byte in two
        codec = "utf-16-le" if body[1:64:2].count(0) > body[0:64:2].count(0) else "utf-16-be"
        text = _decoded(body, codec)
        if text is not None and text[:32].count("\x00") == 0:
            return text, codec
    # Some encodings write everything in ASCII bytes, and so would pass as UTF-8.
    # (Single bytes are found ten times as fast, and most pages have neither.)
    if (b"\x1b" in body and b"\x1b$" in body) or (b"~" in body and b"~{" in body):
        for codec in _declared(body, declared):
            text = _decoded(body, codec) if codec in _SEVEN_BIT else None
            if text is not None:
                return text, codec
    try:
        return body.decode(), "utf-8"
    except UnicodeDecodeError:
        return _decode_other(body, declared)


def _decode_other(body: bytes, declared: str | None) -> tuple[str, str]:
    """What is not strictly UTF-8: UTF-8 with some bad bytes, as declared, as it looks; in this order."""
    text = _decoded(body, "utf-8")
    if text is not None:
        return text, "utf-8"
    sample = _MARKUP.sub(b" ", body[: 8 * SAMPLE])[:SAMPLE]
    labels = _declared(body, declared)
    for codec in (*JAPANESE, *labels, *WIDE) if not sample.isascii() else ():
        text = _decoded(sample, codec)
        if text is not None and reads_like_a_language(text, codec):
            return body.decode(codec, "replace"), codec
    codec = _guess(sample) or (labels[0] if labels else "cp1252")
    return body.decode(codec, "replace"), codec


def _declared(body: bytes, header: str | None) -> tuple[str, ...]:
    """The codecs that the header and the page's own head name; a name that means no text encoding is left out."""
    meta = _META.search(body, 0, _META_WITHIN)
    labels = (header, meta[1].decode("ascii") if meta else None)
    return tuple(dict.fromkeys(codec for label in labels if label and (codec := _codec(label))))


def _codec(label: str) -> str | None:
    """Python's name for a charset label, as browsers understand the label."""
    try:
        codec = codecs.lookup(label.strip().strip("'\"")).name
        b"a".decode(codec, "replace")  # rot13 and base64 are codecs as well, but make no text of bytes
    except (LookupError, ValueError, TypeError, AssertionError):
        return None
    return _SUPERSETS.get(codec, codec)


def _decoded(body: bytes, codec: str) -> str | None:
    """The text, unless more than a few byte sequences are impossible in this encoding."""
    text = body.decode(codec, "replace")
    bad = text.count("\ufffd")
    if bad == 0:
        return text
    other = len(text) - len(text.encode("ascii", "ignore"))
    return text if bad <= BROKEN * (other - bad) else None


def _guess(sample: bytes) -> str | None:
    """The codec that the bytes look like, or None."""
    shares = {codec: latin_share(sample.decode(codec, "replace"), codec) for codec in LATIN}
    best = max(shares, key=lambda codec: shares[codec])  # of equals the first: LATIN begins with the commonest
    if shares[best] > 0.9:  # nearly all accents belong to one language
        return best
    from bs4.dammit import EncodingDetector  # 40 ms of every start, for one page in thousands

    for found in EncodingDetector(sample).encodings:  # charset-normalizer's opinion, if it has one, then bs4's defaults
        codec = _codec(found)
        if codec and _ON_THE_WEB.match(codec):
            return codec
    return None
