"""A topic: terms with weights, from what a person writes or from a text that is about it.

A *term* is a tuple of stems: one for a word, several for a phrase, which a text holds where they stand consecutively (stop words do not count, so
"state of the art" is a phrase of two). Weights are relative to each other; only their proportions matter.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from extensions.errors import ConfigurationError
from extensions.scoring import segment

if TYPE_CHECKING:
    from collections.abc import Mapping

Term = tuple[str, ...]

LARGEST_WEIGHT = 1000.0
SMALLEST_WEIGHT = 0.001
TERMS_OF_A_TEXT = 25
HALF_WEIGHT_COUNT = 3.0
"""In a text, a term that occurs this often has half of the weight it could ever get."""
LONGEST_LIST = 40
"""A file of at most this many words is a list of terms unless it has sentences."""

_SEPARATOR = re.compile(r"[,、;\n]")
_SENTENCE_END = re.compile(r"[.!?]\s+\S|[。！？]")
_HINT = 'write words and phrases with commas between them, each with a weight if you like: "rust:2, ownership, borrow checker:1.5"'


@dataclass(frozen=True)
class Topic:
    """Weighted terms, and how a person spells them. ``str()`` of a topic parses to an equal topic."""

    terms: Mapping[Term, float]
    names: Mapping[Term, str]

    @classmethod
    def load(cls, spec: str) -> Topic:
        """A topic as the TOPIC setting gives it: words, or ``@file`` with a list of words or a text. Raises `ConfigurationError`."""
        spec = spec.strip()
        if not spec.startswith("@"):
            return cls.parse(spec)
        path = Path(spec[1:].strip())
        try:
            document = path.read_text("utf-8-sig")
        except FileNotFoundError as error:
            raise ConfigurationError(f"There is no topic file {path}; check the path after @.") from error
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"The topic file {path} is not UTF-8 text; save it as UTF-8.") from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigurationError(f"The topic file {path} cannot be read ({reason}); give a text file.") from error
        try:
            return cls.from_text(document) if _is_prose(document) else cls.parse(_without_comments(document))
        except ConfigurationError as error:
            raise ConfigurationError(f"In the topic file {path}: {error}") from error

    @classmethod
    def parse(cls, spec: str) -> Topic:
        """A topic from words and phrases with commas, semicolons or line ends between them.

        Without any of those, every word is a term of its own. A word given twice keeps the greater weight. Raises `ConfigurationError`.
        """
        text = segment.normalise(spec)
        parts = [part.strip() for part in (_SEPARATOR.split(text) if _SEPARATOR.search(text) else text.split())]
        if not any(parts):
            raise ConfigurationError(f"The topic is empty; {_HINT}.")
        weights: dict[Term, float] = {}
        names: dict[Term, str] = {}
        for part in filter(None, parts):
            name, weight = _weighted(part)
            term = tuple(segment.terms(name))
            if not term:
                continue
            names.setdefault(term, name)
            weights[term] = max(weight, weights.get(term, 0.0))
        if not weights:
            raise ConfigurationError(
                f"The topic {spec.strip()[:80]!r} has only stop words such as 'the', or signs; {_HINT}."
            )
        return cls(MappingProxyType(weights), MappingProxyType(names))

    @classmethod
    def from_text(cls, document: str) -> Topic:
        """The topic a text is about: its most frequent words, weighted tf / (tf + 3), so that no repetition drowns the others.

        Raises `ConfigurationError` for a text without usable words.
        """
        counts: Counter[str] = Counter()
        spellings: dict[str, Counter[str]] = {}
        for word in segment.words(document):
            stem = segment.stem(word)
            if stem and not stem.isdigit() and (len(stem) > 1 or segment.HAN.match(stem)):
                counts[stem] += 1
                spellings.setdefault(stem, Counter())[word] += 1
        if not counts:
            raise ConfigurationError(
                "The text has no words that could make a topic; give a longer one, or a list of words."
            )
        chosen = counts.most_common(TERMS_OF_A_TEXT)
        return cls(
            MappingProxyType({(stem,): round(count / (count + HALF_WEIGHT_COUNT), 3) for stem, count in chosen}),
            MappingProxyType({(stem,): spellings[stem].most_common(1)[0][0] for stem, _ in chosen}),
        )

    def __str__(self) -> str:
        parts = [
            self.names[term] if weight == 1.0 else f"{self.names[term]}:{weight!r}"
            for term, weight in self.terms.items()
        ]
        # A single phrase keeps its comma: without one, its words would be terms of their own.
        return ", ".join(parts) + ("," if len(parts) == 1 else "")


def _weighted(part: str) -> tuple[str, float]:
    """Name and weight of one part. Raises `ConfigurationError`."""
    name, colon, number = part.partition(":")
    name = name.strip().strip("\"'“”").strip()
    if not colon:
        return name, 1.0
    if not name or ":" in number or not number.strip():
        raise ConfigurationError(
            f"The topic part {part[:80]!r} has a colon in an odd place; a colon stands between a word and its weight, as in rust:2."
        )
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not SMALLEST_WEIGHT <= weight <= LARGEST_WEIGHT:
        raise ConfigurationError(
            f"In the topic part {part[:80]!r}, {number.strip()!r} is not a weight; give a number from {SMALLEST_WEIGHT} to {LARGEST_WEIGHT:g}, as in rust:2."
        )
    return name, weight


def _without_comments(document: str) -> str:
    return "\n".join(line for line in document.splitlines() if not line.lstrip().startswith("#"))


def _is_prose(document: str) -> bool:
    """Whether a file holds sentences rather than a list of terms, whose parts are short."""
    if _SENTENCE_END.search(document):
        return True
    number = sum(1 for _ in segment.words(document))
    parts = sum(1 for part in _SEPARATOR.split(segment.normalise(document)) if part.strip())
    return number > LONGEST_LIST and number > 4 * parts
