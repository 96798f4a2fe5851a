"""A threshold in the scale that all relevance models share: how sure one must be that a page is on topic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Certainty:
    """A page is on topic if it is so with a probability above this, which lies between 0 and 1, both excluded."""

    probability: float

    def __str__(self) -> str:
        return f"{self.probability * 100:g}%"

    @classmethod
    def parse(cls, text: str) -> Certainty:
        """Read a percentage such as ``60%``. Raises `ValueError`."""
        share = float(text.strip().removesuffix("%")) / 100.0
        if not text.rstrip().endswith("%") or not 0.0 < share < 1.0:
            raise ValueError(text)
        return cls(share)
