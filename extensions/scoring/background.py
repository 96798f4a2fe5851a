"""How much a word tells: its rarity in the language at large, in bits.

A bundled table of common words, not what the crawl has seen: a focused crawl sees its own topic everywhere, and would learn that the topic's words
tell nothing. It is also the same in every process, and after every restart.
"""

from __future__ import annotations

from extensions.scoring.wordtable import CHINESE, ENGLISH

RAREST = 8.0
"""Bits of a word that the table does not have. Few differences beyond matter: a word on one page in 250 is as good as a name."""

_BITS = {word: level / 2 for table in (ENGLISH, CHINESE) for level, words in table.items() for word in words.split()}


def rarity(stem: str) -> float:
    """−log₂ of the share of pages that hold this term: 0.5 for one nearly everywhere, `RAREST` at the most."""
    return _BITS.get(stem, RAREST)
