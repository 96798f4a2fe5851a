"""The model `bm25`: how much of a topic a page covers, in a sense that page length, repetition and common words cannot distort.

The body's evidence for a term saturates with its occurrences and is spread over the page's length, as in BM25 (Robertson and Zaragoza, The Probabilistic
Relevance Framework, 2009); the title's does not, as a title has no room to repeat itself. Terms count by their rarity. A phrase counts in full where its words
stand together, in part where they stand near each other, and a little where they stand apart.

Relevance is a probability. With s the saturation of term t, w its weight relative to the heaviest, and its gain g = w · rarity in bits:

    evidence = (Σ g·s / BITS)^TELLING · (Σ g·s / √(Σ g²))^(1−TELLING)        once for the title, once for the body
    relevance = logistic(BIAS + TITLE·evidence_title + BODY·evidence_body)

The first factor asks how much the words tell, whatever the topic's size, the second how much of the topic they are, so that a topic of one common word and one
of ten rare ones share a threshold: ½.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

from extensions.scoring.background import rarity
from extensions.scoring.models import Model, Relevance, cosine, occurrences
from extensions.scoring.segment import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from extensions.scoring.topic import Term, Topic

BITS = 10.0
"""Rarity that makes one term's full presence evidence of 1, where it is the topic's only term."""
FURTHER_WORDS = 0.35
"""Share of their bits that a phrase's words beyond the rarest add: words of a phrase are no surprise to each other."""
HALF = 1.2
"""Occurrences at which a word's evidence in a body of average length is half of what it can be: k₁ of BM25."""
HALF_OF_PHRASES = 0.7
"""The same for phrases, which are repeated less."""
LENGTH_SHARE = 0.75
"""How much of `HALF` grows with the body's length: b of BM25."""
AVERAGE_LENGTH = 400.0
SHORTEST_LENGTH = 60
"""Terms in a body. A shorter one gets no credit for its shortness."""
NEAR = 4
"""A phrase's words are near each other within this many terms for each of them."""
NEAR_SHARE, APART_SHARE, APART_SHARE_IN_TITLE = 0.5, 0.35, 0.45
"""What a phrase's words are worth near each other, and apart, of what the phrase would be."""
TELLING = 0.25
"""Exponent of the first factor."""
BIAS, TITLE, BODY = -3.0, 13.0, 6.5
"""Fitted on 33 word lists of one to ten terms for 17 sets of pages, English and Chinese; sets left out in turn lose 0.01 of F1 by it."""

Positions = dict[str, list[int]]


class CoverageModel(Model):
    """Relevance as a probability from the topic's coverage by title and body; the similarities are the cosines that `VectorModel` reports."""

    def __init__(self, topic: Topic, threshold: float = 0.5) -> None:
        self.topic = topic
        self.threshold = threshold
        heaviest = max(topic.terms.values())
        self._own = {term: weight / heaviest * _bits(term) for term, weight in topic.terms.items()}
        self.add({})

    def add(self, gains: Mapping[str, float]) -> None:
        """From now on count these words as well, in place of those added before: each with its gain in bits, as if it were a term of the topic, which it must not be."""
        self._gains = self._own | {(stem,): gain for stem, gain in gains.items()}
        self._scale: float = BITS**TELLING * math.hypot(*self._gains.values()) ** (1.0 - TELLING)
        self._stems = frozenset(stem for term in self._gains for stem in term)

    def score(self, title: str, text: str) -> Relevance:
        """See `Model`; relevance is 0 to 1."""
        title_terms, body_terms = terms(title), terms(text)
        relevance = 1.0 / (1.0 + math.exp(-self.logit(title_terms, body_terms)))
        weights = self.topic.terms
        b, c = (cosine(occurrences(weights, part), weights) for part in (title_terms, body_terms))
        return Relevance(relevance, b, c, relevance > self.threshold)

    def logit(self, title: Sequence[str], body: Sequence[str]) -> float:
        """The logarithm of the odds that a page with these terms is on topic."""
        return BIAS + TITLE * self._in_title(title) / self._scale + BODY * self._in_body(body) / self._scale

    def _in_title(self, title: Sequence[str]) -> float:
        """Σ g·s of the title."""
        at = self._positions(title)
        if not at:
            return 0.0
        return math.fsum(gain * _presence_in_title(term, at) for term, gain in self._gains.items())

    def _in_body(self, body: Sequence[str]) -> float:
        """Σ g·s of the body."""
        at = self._positions(body)
        if not at:
            return 0.0
        stretch = _stretch(len(body))
        return math.fsum(gain * _saturation(term, at, stretch) for term, gain in self._gains.items())

    def _positions(self, page: Sequence[str]) -> Positions:
        at: Positions = {}
        stems = self._stems
        for position, stem in enumerate(page):
            if stem in stems:
                at.setdefault(stem, []).append(position)
        return at


def presence(count: int, length: int) -> float:
    """How present a word is in a body of so many terms, 0 to 1."""
    return count / (count + HALF * _stretch(length))


def _stretch(length: int) -> float:
    """What a body's length makes of `HALF`."""
    return 1.0 - LENGTH_SHARE + LENGTH_SHARE * max(SHORTEST_LENGTH, length) / AVERAGE_LENGTH


def _bits(term: Term) -> float:
    """What a term tells, in bits."""
    bits = [rarity(stem) for stem in term]
    return max(bits) + FURTHER_WORDS * (sum(bits) - max(bits))


def _saturation(term: Term, at: Mapping[str, list[int]], stretch: float) -> float:
    """How present a term is in a body, 0 to 1: x / (x + k), with k stretched by the body's length."""
    half = HALF * stretch
    if len(term) == 1:
        count = len(at.get(term[0], ()))
        return count / (count + half)
    together, near = phrase_counts(term, at)
    count_of_phrase = together + NEAR_SHARE * near
    return max(
        count_of_phrase / (count_of_phrase + HALF_OF_PHRASES * stretch),
        APART_SHARE * _mean(term, {stem: len(at[stem]) / (len(at[stem]) + half) for stem in term if stem in at}),
    )


def _presence_in_title(term: Term, at: Mapping[str, list[int]]) -> float:
    """How present a term is in a title, 0 to 1."""
    if len(term) == 1:
        return float(term[0] in at)
    together, near = phrase_counts(term, at)
    if together:
        return 1.0
    apart = APART_SHARE_IN_TITLE * _mean(term, {stem: 1.0 for stem in term if stem in at})
    return max(NEAR_SHARE * bool(near), apart)


def _mean(term: Term, presence: Mapping[str, float]) -> float:
    """How present a phrase's single words are, the rarer counting more."""
    bits = [(rarity(stem), presence.get(stem, 0.0)) for stem in term]
    return sum(weight * value for weight, value in bits) / sum(weight for weight, _ in bits)


def phrase_counts(term: Term, at: Mapping[str, list[int]]) -> tuple[int, int]:
    """How often a phrase stands in a text whose words are at these positions, and how often its words stand near each other instead.

    Positions are in ascending order. Near means within `NEAR` terms per word of the phrase, on either side of an occurrence of its first word.
    """
    places = [at.get(stem) for stem in term]
    if not all(places):
        return 0, 0
    first, *others = (place for place in places if place)
    sets = [frozenset(other) for other in others]
    window = NEAR * len(term)
    together = near = 0
    for start in first:
        if all(start + step in positions for step, positions in enumerate(sets, 1)):
            together += 1
            continue
        for other in others:
            index = bisect_left(other, start - window)
            if index == len(other) or other[index] > start + window:
                break
        else:
            near += 1
    return together, near
