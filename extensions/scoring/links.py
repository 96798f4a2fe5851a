"""How promising a link is: the probability that the page behind it is on topic, from what can be seen before it is fetched.

Hot: a page has a hundred links, so a link gets a few microseconds. Texts and words are looked up in bounded caches; Chinese words are found as substrings,
since segmenting every anchor costs more than it tells.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING
from urllib.parse import unquote

from extensions.scoring.segment import HAN, stem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from extensions.scoring.topic import Topic

PARENT, ANCHOR, URL, CONTEXT = 0.3, 0.75, 0.55, 0.25
"""What each piece of evidence is worth alone, at its fullest."""
DECAY = 0.7
"""What is left of inherited relevance and of the words' evidence with each off-topic page in a row."""
PHRASE_PART = 0.5
"""What all words but one of a long phrase come close to; the whole phrase counts 1."""
CACHED = 20_000
LONGEST = 1000
"""Characters of an anchor, a context or a URL that are read."""

_WORD = re.compile(r"c\+\+|[cf]#|[^\W_]+")
_URL_WORD = re.compile(r"[^\W_]+")
_ASCII = "".join(chr(code) if chr(code).isalnum() else " " for code in range(128))
"""For `str.translate`: nothing but words and spaces. To split what is left takes a quarter of the time of a search for words."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-zA-Z])(?=[0-9])")


class LinkMatcher:
    """Finds a topic's words in anchors, contexts and URLs, and says how much of the topic they cover.

    Coverage is the cosine of the topic with the text, each term counted at most once: √(Σ mᵢ·wᵢ² / Σ wᵢ²), 0 to 1, where mᵢ is 1 for a term all of whose words
    are there, and half the share of its words that are there for a phrase that is not.
    """

    def __init__(self, topic: Topic) -> None:
        stems = sorted({stem for term in topic.terms for stem in term})
        self._bits = {stem: 1 << position for position, stem in enumerate(stems)}
        self._chinese = [(stem, bit) for stem, bit in self._bits.items() if HAN.search(stem)]
        whole = math.fsum(weight**2 for weight in topic.terms.values())
        self._terms = [([self._bits[stem] for stem in term], weight**2 / whole) for term, weight in topic.terms.items()]
        remembered = lru_cache(CACHED)
        self._of_word = remembered(self._word)
        self._of_url_word = remembered(self._url_word)
        self._of_host = remembered(self._host)
        self._of_bits = remembered(self._coverage)
        self.text = remembered(self._text)
        """Coverage of the topic by an anchor or by the words around it."""
        self.url = remembered(self._url)
        """Coverage of the topic by the words of a URL: host, path and query, percent-decoded, camelCase taken apart."""

    def among(self, words: Iterable[str], text: str) -> float:
        """Coverage by a text that is cut into words already, see `words_of`."""
        return self._of_bits(reduce(or_, map(self._of_word, words), self._han(text)))

    def among_url(self, host: str, words: Iterable[str], path: str) -> float:
        """Coverage by a URL that is cut into words already, see `url_words`."""
        return self._of_bits(reduce(or_, map(self._of_url_word, words), self._of_host(host) | self._han(path)))

    def _text(self, text: str) -> float:
        lower = lowered(text)
        return self.among(words_of(lower), lower)

    def _url(self, url: str) -> float:
        host, path = parts_of(url)
        return self.among_url(host, url_words(path), path)

    def _word(self, word: str) -> int:
        return self._bits.get(stem(word), 0)

    def _url_word(self, word: str) -> int:
        return reduce(or_, (self._word(part.lower()) for part in (word, *_CAMEL.split(word))))

    def _host(self, host: str) -> int:
        return reduce(or_, map(self._of_url_word, url_words(host)), self._han(host))

    def _han(self, text: str) -> int:
        found = 0
        if self._chinese and not text.isascii():
            for word, bit in self._chinese:
                if word in text:
                    found |= bit
        return found

    def _coverage(self, found: int) -> float:
        total = 0.0
        for bits, share in self._terms:
            present = sum(1 for bit in bits if found & bit)
            total += share if present == len(bits) else share * PHRASE_PART * present / len(bits)
        return math.sqrt(min(1.0, total))


def lowered(text: str) -> str:
    """As much of an anchor or a context as is read, in lower case."""
    return text[:LONGEST].lower()


def words_of(text: str) -> list[str]:
    """The words of a `lowered` text."""
    if text.isascii() and "+" not in text and "#" not in text:
        return text.translate(_ASCII).split()
    return _WORD.findall(text)


def parts_of(url: str) -> tuple[str, str]:
    """Host, and path with query, percent-decoded, of as much of a URL as is read. The scheme is in neither: every URL would be about http."""
    start = url.find("://") + 3 if "://" in url else 0
    rest = url[start : start + LONGEST]
    if "%" in rest:
        rest = unquote(rest)
    host, _, path = rest.partition("/") if start else ("", "", rest)
    return host, path


def url_words(part: str) -> list[str]:
    """The words of a part of a URL."""
    return part.translate(_ASCII).split() if part.isascii() else _URL_WORD.findall(part)


def link_quality(*, parent: float, anchor: float, context: float, url: float, hops: int) -> float:
    """The quality of a link, 0 to 1: a noisy-or of its evidence, each piece a cause that alone could suffice.

        q = 1 − (1 − P·parent·dʰ) · (1 − A·a·dʰ) · (1 − U·u·dʰ) · (1 − C·c·dʰ)

    `parent` is the probability that the page with the link is on topic; a, u and c are the topic's coverage (`LinkMatcher`) by the `anchor`, the words of the `url`
    and the words around the anchor, the `context`; h = `hops`, the off-topic pages in a row up to and with the parent. It never falls when
    `parent` or any coverage rises, and never rises with `hops`.
    """
    decay = DECAY**hops
    return 1.0 - (
        (1.0 - PARENT * parent * decay)
        * (1.0 - ANCHOR * anchor * decay)
        * (1.0 - URL * url * decay)
        * (1.0 - CONTEXT * context * decay)
    )
