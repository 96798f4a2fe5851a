"""Any text as a list of terms, so that words that mean the same are equal.

Words of alphabetic scripts are lower-cased and stemmed (Snowball's English); runs of Chinese characters are segmented by jieba's dictionary.
Stop words of both languages are left out; order and repetition are kept. Only the first `LONGEST_TEXT` characters are read, so the
time a page takes is bounded whatever it holds. Not for use by several threads at once: the stemmer is not.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import Stemmer

from extensions.scoring.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_TEXT = 200_000
LONGEST_WORD = 40
"""Longer runs of letters are encoded data, not words."""
CACHED_WORDS = 50_000

_HAN = "㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff"
HAN = re.compile(f"[{_HAN}]")
# C++, C# and F# are words. Letters are looked for first, since most words are no such language: that is an eighth faster than to try the languages first.
_ALPHABETIC = re.compile(r"[^\W_]+(?:['+#](?:(?<=')[a-z]+|(?<=(?<![^\W_])c\+)\+|(?<=(?<![^\W_])[cf]#)))?")
# All of Han lies beyond this, and to see that a text is all before it takes a fifth of the time of a search for Han.
_BEFORE_HAN = re.compile("[\0-\u2e7f]*")
_MIXED = re.compile(rf"[{_HAN}]+|c\+\+|[cf]#|[^\W_{_HAN}]+(?:'[a-z]+)?")

# British endings become American ones, so that a topic about factorisation finds factorizations. That other words are bent on the way
# (promise, detour) does no harm: they are bent alike wherever they stand.
_BRITISH = re.compile(
    r"(?<=\w\w\w)(?:is(?=e$|e[ds]$|ers?$|ing$|ations?$)|ys(?=e$|e[ds]$|ers?$|ing$)|our(?=(?:s|ed|ing|al|able|ful|less)?$))"
)
_AMERICAN = {"is": "iz", "ys": "yz", "our": "or"}

_stemmer = Stemmer.Stemmer("english", 0)  # 0: its own cache stays off, the one below serves
_stems: dict[str, str] = {}


def normalise(text: str) -> str:
    """Full-width letters, ligatures and typographic apostrophes in their plain spelling."""
    return unicodedata.normalize("NFKC", text).replace("’", "'")


def words(text: str) -> Iterator[str]:
    """The words of a text in order, lower-cased but not stemmed, stop words included."""
    text = normalise(text[:LONGEST_TEXT]).lower()
    if _BEFORE_HAN.fullmatch(text) or not HAN.search(text):
        yield from _ALPHABETIC.findall(text)
        return
    for run in _MIXED.findall(text):
        if HAN.match(run):
            import rjieba  # its dictionary takes 0.1 s to load: not at the start of a crawl that meets no Chinese

            yield from rjieba.cut(run)
        else:
            yield run


def stem(word: str) -> str:
    """The stem of a lower-case word; empty if the word is a stop word or no word at all."""
    known = _stems.get(word)
    if known is None:
        nothing = word in STOP_WORDS or len(word) > LONGEST_WORD
        known = "" if nothing else str(_stemmer.stemWord(_BRITISH.sub(_american, word)))
        if len(_stems) >= CACHED_WORDS:
            _stems.clear()
        _stems[word] = known
    return known


def _american(ending: re.Match[str]) -> str:
    return _AMERICAN[ending[0]]


def terms(text: str) -> list[str]:
    """The stems of a text's words in order, without stop words."""
    known = _stems.get
    # The cache is asked here too: a call for every word would double the time.
    return [term for word in words(text) if (term := known(word) or stem(word))]
