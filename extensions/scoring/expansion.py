"""What the seeds' own pages add to a topic: words that a user did not think of, in proportion to how far these pages are on topic by the words that were given.

People choose seeds about their topic more carefully than words. But a seed may also be a portal from which the topic can be reached, and says nothing of it. So each
seed counts as much as the probability p that it is on topic by the user's words alone:

    worth of a word t = mean presence of t in the seeds, weighted by p · rarity of t in bits
    gain of t         = WEIGHT · Σp / (Σp + DOUBT) · worth of t / the greatest worth · rarity of t        for the `WORDS` words of greatest worth
    presence          = x / (x + k) of its occurrences x in the body, as in `coverage`, and 1 more in the title, but at most `MOST`

Gains are as of the topic's terms. Only rare words are taken: those that many pages have would bring the web in. A crawl needs more words as long as the given ones are
scarce, even where the topic is at home; the level of `context` tells. From a level of `SCARCE` to one of `ENOUGH` the gains fade to nothing.

The idea is Rocchio's (Relevance feedback in information retrieval, 1971), with what is fed back judged by the query itself.
"""

from __future__ import annotations

import math
from collections import Counter
from heapq import nsmallest
from typing import TYPE_CHECKING, TypeAlias

import msgpack

from extensions.scoring.background import rarity
from extensions.scoring.coverage import presence
from extensions.scoring.segment import HAN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from extensions.scoring.topic import Topic

WORDS = 20
WEIGHT, DOUBT = 0.3, 0.5
"""The gain of the best word relative to that of an equally rare one of the topic, and the sum of probabilities at which it is half of that. Fitted on 17 topics:
with three seeds on topic and three portals mean F1 of `context` rises by 0.09 there and by 0.19 on 21 others, with the portals alone by less than 0.01. From
10 to 60 words do as well; half the `WEIGHT` gains two thirds, and from 0.5 on portals do harm."""
LEAST_BITS = 6.0
"""Words on more than one page in 64 are not taken. With more common ones portals do harm."""
MOST = 1.5
"""Presence of a word that is in the title and all over the body."""
SCARCE, ENOUGH = 0.6, 0.8
"""Without the fading, sites whose own name and menu the seeds teach are taken for the topic as a whole, also where the given words tell their pages apart."""
WORDS_OF_A_SEED = 200
"""The ones worth most of each seed are remembered."""
CAPACITY = 5_000
"""Words remembered: those of some dozens of seeds, and of more as far as seeds have words in common."""
FORMAT = 1

Sums: TypeAlias = dict[str, float]
"""By word: of p · presence, or of gains."""


class Expansion:
    """See the module's docstring. Bounded: see `CAPACITY`. A `Learner`."""

    def __init__(self, topic: Topic, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._given = frozenset(stem for term in topic.terms for stem in term)
        self._sums: Sums = {}
        self._total = 0.0
        self._changes: Sums = {}
        self._changed = 0.0
        self._gains: Sums | None = {}

    def take_in(self, title: Sequence[str], body: Sequence[str], probability: float) -> None:
        """Add a seed by the terms of its title and its body; `probability` is that it is on topic by the topic's words."""
        if probability <= 0.0:
            return
        present = self._presences(title, body)
        seen = {stem: probability * present[stem] for stem in _best(present, WORDS_OF_A_SEED)}
        self._add(seen, probability)
        _add(self._changes, seen)
        self._changed += probability
        # An agent that shares nothing keeps no sums to share.
        if len(self._changes) > self.capacity:
            self._changes, self._changed = {}, 0.0

    def gains(self, level: float) -> dict[str, float]:
        """What each word that is added to the topic tells, in bits, where the crawl's level is this: see `places`. Empty at a high one."""
        fade = min(1.0, (ENOUGH - level) / (ENOUGH - SCARCE))
        if fade <= 0.0:
            return {}
        if self._gains is None:
            self._gains = self._found()
        return {stem: fade * gain for stem, gain in self._gains.items()}

    def changes(self) -> bytes:
        """What was seen here since the last call, for `merge` elsewhere; empty if nothing was."""
        if not self._changed:
            return b""
        told = _packed(self._changes, self._changed)
        self._changes, self._changed = {}, 0.0
        return told

    def merge(self, changes: bytes) -> None:
        """Take in what `changes` or `state` wrote. Raises `ValueError` for anything else, and is unchanged then."""
        if changes:
            self._add(*_unpacked(changes))

    def state(self) -> bytes:
        """All that was seen, here and elsewhere."""
        return _packed(self._sums, self._total)

    def __len__(self) -> int:
        return len(self._sums)

    def _presences(self, title: Sequence[str], body: Sequence[str]) -> Sums:
        """How present each word is that may be added."""
        in_title, counts = set(title), Counter(body)
        return {
            stem: min(MOST, presence(counts[stem], len(body)) + (stem in in_title))
            for stem in in_title | counts.keys()
            if rarity(stem) >= LEAST_BITS and stem not in self._given and _is_word(stem)
        }

    def _add(self, seen: Mapping[str, float], probabilities: float) -> None:
        _add(self._sums, seen)
        self._total += probabilities
        if len(self._sums) > self.capacity:
            self._sums = {stem: self._sums[stem] for stem in _best(self._sums, self.capacity // 2)}
        self._gains = None

    def _found(self) -> Sums:
        best = _best(self._sums, WORDS)
        if not best:
            return {}
        greatest = self._sums[best[0]] * rarity(best[0])
        weight = WEIGHT * self._total / (self._total + DOUBT) / greatest
        return {stem: weight * self._sums[stem] * rarity(stem) ** 2 for stem in best}


def _best(amounts: Mapping[str, float], number: int) -> list[str]:
    """The words of greatest worth, amount times rarity; of equal ones the first in the alphabet, so that all agents choose alike."""
    return nsmallest(number, amounts, key=lambda stem: (-amounts[stem] * rarity(stem), stem))


def _is_word(stem: str) -> bool:
    """Whether this can mean the same on another page: numbers do not, nor do single letters."""
    return (len(stem) > 1 and any(character.isalpha() for character in stem)) or bool(HAN.search(stem))


def _add(sums: Sums, seen: Mapping[str, float]) -> None:
    for stem, amount in seen.items():
        sums[stem] = sums.get(stem, 0.0) + amount


def _packed(sums: Sums, total: float) -> bytes:
    packed: bytes = msgpack.packb((FORMAT, sums, total))
    return packed


def _unpacked(packed: bytes) -> tuple[Sums, float]:
    """Sums and total. Raises `ValueError`."""
    try:
        version, sums, total = msgpack.unpackb(packed)
        if version == FORMAT:
            return {str(stem): _amount(amount) for stem, amount in sums.items()}, _amount(total)
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
        raise ValueError("these bytes hold no words of seeds") from error
    raise ValueError(f"words of seeds in format {version!r}, written by another version of this project")


def _amount(value: float) -> float:
    """A number that can be added without spoiling all others."""
    number = float(value)
    if not 0.0 <= number < math.inf:
        raise ValueError(f"{number} is no amount")
    return number
