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
from array import array
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import msgpack

if TYPE_CHECKING:
    from collections.abc import Iterable

BUCKETS = 2**18
"""Of four megabytes in all. Of the words of a crawl of 100,000 pages some share a bucket, rare ones mostly."""
RATE = 0.1
BOUND = 3.0
"""Logits that the words of one link amount to at most: a link is made of many words that always come together."""
MOST_WORDS = 30
"""Of one text that are read."""
CACHED = 20_000
"""Words whose buckets are remembered."""
FORMAT = 1

Words: TypeAlias = tuple[int, ...]
"""The buckets of words, each once."""


ANCHOR, URL, CONTEXT = "a", "u", "c"
"""Where a word stands: it means something else in an anchor than in a URL or around a link."""


def buckets(where: str, words: Iterable[str]) -> Words:
    """The buckets of the first `MOST_WORDS` words of a text; `where` is one of the above."""
    return tuple({*map(_BUCKETS[where], islice(words, MOST_WORDS))})


def _bucket_of(where: str, word: str) -> int:
    return crc32(f"{where}{word.lower()}".encode()) % BUCKETS


_BUCKETS = {where: lru_cache(CACHED)(partial(_bucket_of, where)) for where in (ANCHOR, URL, CONTEXT)}


class LinkWords:
    """See the module's docstring. A `Learner`. Not for several threads at once."""

    def __init__(self) -> None:
        self._weights = array("d", bytes(8 * BUCKETS))
        self._squares = array("d", bytes(8 * BUCKETS))
        self._met: set[int] = set()
        self._changes: dict[int, list[float]] = {}

    def evidence(self, words: Words) -> float:
        """What a link's words add to the logit of its quality; 0 before anything was learned."""
        total = sum(map(self._weights.__getitem__, words))
        return BOUND if total > BOUND else -BOUND if total < -BOUND else total  # noqa: FURB136 - calls take longer

    def learn(self, error: float, words: Words) -> None:
        """Take in that a link with these words was foretold by so much too good (above 0) or too bad, -1 to 1."""
        if not -1.0 <= error <= 1.0:
            raise ValueError(f"the error is {error}, but is the difference of two probabilities")
        square = error * error
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
