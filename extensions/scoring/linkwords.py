"""What the words of links are worth, learned during the crawl: logistic regression on hashed words, one step for each fetched page.

A topic's own words are known before the crawl (`links`); which others lead to it, the crawl finds out: "reference", "manual", the name of a project, the folder of a wiki in another language.
Each word of an anchor, of a URL's path and of the words around a link has a weight, and a link's *evidence* is their sum, in logits, which is added to what is known of the link otherwise. When its
page has been fetched, the weights of its words move against the error (gradient descent with a rate for each word that falls as it is met, AdaGrad: Duchi, Hazan, Singer 2011):

    e = p − r,   G(w) ← G(w) + e²,   weight(w) ← weight(w) − RATE · e / √G(w)

with p the probability that was foretold and r the page's relevance. All weights are 0 at first: then the link is judged by the hand-made prior alone. Words are hashed into `BUCKETS` (Weinberger et al. 2009), so memory is bounded and
the same in all agents. Steps only ever add up, so agents tell each other sums, as in asynchronous gradient descent.
"""

from __future__ import annotations

import math
import re
from array import array
from typing import TypeAlias
from zlib import crc32

import msgpack

BUCKETS = 2**18
"""Of four megabytes in all. Of the words of a crawl of 100,000 pages some share a bucket, rare ones mostly."""
RATE = 0.1
BOUND = 3.0
"""Logits that the words of one link amount to at most: a link is made of many words that always come together."""
MOST_WORDS = 30
"""Of one text that are read."""
CACHED = 20_000
"""Texts whose words are remembered: menus are the same on all pages of a site."""
FORMAT = 1

_WORD = re.compile(r"[^\W_]+")

Words: TypeAlias = tuple[int, ...]
"""The buckets of a text's words, each once."""


class LinkWords:
    """See the module's docstring. A `Learner`. Not for several threads at once."""

    def __init__(self) -> None:
        self._weights = array("d", bytes(8 * BUCKETS))
        self._squares = array("d", bytes(8 * BUCKETS))
        self._met: set[int] = set()
        self._changes: dict[int, list[float]] = {}
        self._of_text: dict[str, dict[str, Words]] = {}
        self._of_word: dict[str, dict[str, int]] = {}
        """Buckets by kind, of texts and of words."""

    def words(self, kind: str, text: str) -> Words:
        """The words of a text; `kind` tells anchor, URL and surroundings apart, in which the same word means different things."""
        of_text = self._of_text.get(kind)
        if of_text is None:
            of_text = self._of_text[kind] = {"": ()}
            self._of_word[kind] = {}
        known = of_text.get(text)
        if known is None:
            if len(of_text) >= CACHED:
                of_text.clear()
            known = of_text[text] = self._read(kind, text)
        return known

    def evidence(self, *texts: Words) -> float:
        """What the words of a link's texts add to the logit of its quality; 0 before anything was learned."""
        weight = self._weights.__getitem__
        total = 0.0
        for words in texts:
            total += sum(map(weight, words))
        return min(BOUND, max(-BOUND, total))

    def learn(self, error: float, *texts: Words) -> None:
        """Take in that a link with these texts was foretold by so much too good (above 0) or too bad, -1 to 1."""
        if not -1.0 <= error <= 1.0:
            raise ValueError(f"the error is {error}, but is the difference of two probabilities")
        square = error * error
        for words in texts:
            for word in words:
                step = -RATE * error / math.sqrt(1.0 + self._squares[word] + square)
                self._move(word, step, square)
                change = self._changes.setdefault(word, [0.0, 0.0])
                change[0] += step
                change[1] += square

    def changes(self) -> bytes:
        """What was learned here since the last call, for `merge` elsewhere; empty if nothing was."""
        if not self._changes:
            return b""
        told = _packed(self._changes)
        self._changes = {}
        return told

    def merge(self, changes: bytes) -> None:
        """Take in what `changes` or `state` wrote. Raises `ValueError` for anything else, and is unchanged then."""
        if changes:
            for word, (step, square) in _unpacked(changes).items():
                self._move(word, step, square)

    def state(self) -> bytes:
        """All that was learned, here and elsewhere."""
        return _packed({word: [self._weights[word], self._squares[word]] for word in self._met})

    def __len__(self) -> int:
        return len(self._met)

    def _read(self, kind: str, text: str) -> Words:
        of_word = self._of_word[kind]
        if len(of_word) >= 5 * CACHED:
            of_word.clear()
        found: dict[int, None] = {}
        for word in _WORD.findall(text.lower())[:MOST_WORDS]:
            bucket = of_word.get(word)
            if bucket is None:
                bucket = of_word[word] = crc32(f"{kind}{word}".encode()) % BUCKETS
            found[bucket] = None
        return tuple(found)

    def _move(self, word: int, step: float, square: float) -> None:
        self._weights[word] += step
        self._squares[word] += square
        self._met.add(word)


def _packed(moves: dict[int, list[float]]) -> bytes:
    packed: bytes = msgpack.packb((FORMAT, moves))
    return packed


def _unpacked(packed: bytes) -> dict[int, tuple[float, float]]:
    """Steps and squares by bucket. Raises `ValueError`."""
    try:
        version, moves = msgpack.unpackb(packed, strict_map_key=False)
        if version == FORMAT:
            return {_bucket(word): (_finite(step), abs(_finite(square))) for word, (step, square) in moves.items()}
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
        raise ValueError("these bytes hold no words of links") from error
    raise ValueError(f"words of links in format {version!r}, written by another version of this project")


def _bucket(word: int) -> int:
    if not isinstance(word, int) or not 0 <= word < BUCKETS:
        raise ValueError(f"{word!r} is no bucket")
    return word


def _finite(value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no amount")
    return number
