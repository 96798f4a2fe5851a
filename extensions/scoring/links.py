"""How promising a link is: the probability that the page behind it is on topic, from what can be seen before it is fetched.

Hot: a page has a hundred links, so a link gets a few microseconds. Words are looked up in bounded caches; Chinese words are found as substrings,
since segmenting every anchor costs more than it tells.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from extensions.scoring.segment import HAN, stem

if TYPE_CHECKING:
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

K = TypeVar("K")
V = TypeVar("V")

_WORD = re.compile(r"c\+\+|[cf]#|[^\W_]+")
_URL_WORD = re.compile(r"[^\W_]+")
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
        self._of_word: dict[str, int] = {}
        self._of_url_word: dict[str, int] = {}
        self._of_url: dict[str, float] = {}
        self._of_text: dict[str, float] = {"": 0.0}
        self._of_words: dict[int, float] = {0: 0.0}

    def text(self, text: str) -> float:
        """Coverage of the topic by an anchor or by the words around it."""
        known = self._of_text.get(text)
        if known is None:
            lower = text[:LONGEST].lower()
            found = 0
            of_word = self._of_word
            for word in _WORD.findall(lower):
                bits = of_word.get(word)
                found |= self._word(word) if bits is None else bits
            known = _remember(self._of_text, text, self._coverage(found | self._han(lower)))
        return known

    def url(self, url: str) -> float:
        """Coverage of the topic by the words of a URL: host, path and query, percent-decoded, camelCase taken apart."""
        known = self._of_url.get(url)
        if known is None:
            # The scheme is no word: every URL would be about http.
            start = url.find("://") + 3 if "://" in url else 0
            rest = url[start : start + LONGEST]
            if "%" in rest:
                rest = unquote(rest)
            found = 0
            of_url_word = self._of_url_word
            for word in _URL_WORD.findall(rest):
                bits = of_url_word.get(word)
                found |= self._url_word(word) if bits is None else bits
            known = _remember(self._of_url, url, self._coverage(found | self._han(rest)))
        return known

    def _word(self, word: str) -> int:
        return _remember(self._of_word, word, self._bits.get(stem(word), 0))

    def _url_word(self, word: str) -> int:
        found = 0
        for part in (word, *_CAMEL.split(word)):
            found |= self._bits.get(stem(part.lower()), 0)
        return _remember(self._of_url_word, word, found)

    def _han(self, text: str) -> int:
        found = 0
        if self._chinese and not text.isascii():
            for word, bit in self._chinese:
                if word in text:
                    found |= bit
        return found

    def _coverage(self, found: int) -> float:
        known = self._of_words.get(found)
        if known is None:
            total = 0.0
            for bits, share in self._terms:
                present = sum(1 for bit in bits if found & bit)
                total += share if present == len(bits) else share * PHRASE_PART * present / len(bits)
            known = _remember(self._of_words, found, math.sqrt(min(1.0, total)))
        return known


def link_quality(matcher: LinkMatcher, *, parent: float, anchor: str, context: str, url: str, hops: int) -> float:
    """The quality of a link, 0 to 1: a noisy-or of its evidence, each piece a cause that alone could suffice.

        q = 1 − (1 − P·parent·dʰ) · (1 − A·a·dʰ) · (1 − U·u·dʰ) · (1 − C·c·dʰ)

    `parent` is the probability that the page with the link is on topic; a, u and c are the topic's coverage by the anchor, the words of the URL
    and the words around the anchor; h = `hops`, the off-topic pages in a row up to and with the parent. It never falls when
    `parent` or any coverage rises, and never rises with `hops`.
    """
    decay = DECAY**hops
    return 1.0 - (
        (1.0 - PARENT * parent * decay)
        * (1.0 - ANCHOR * matcher.text(anchor) * decay)
        * (1.0 - URL * matcher.url(url) * decay)
        * (1.0 - CONTEXT * matcher.text(context) * decay)
    )


def _remember(cache: dict[K, V], key: K, value: V) -> V:
    """Keep a value in a bounded cache; a full one starts afresh, which is cheaper than keeping an order."""
    if len(cache) >= CACHED:
        cache.clear()
    cache[key] = value
    return value
