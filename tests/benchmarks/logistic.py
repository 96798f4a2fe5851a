"""TF-IDF and logistic regression, trained on labels: what a relevance model without examples is measured against.

Written apart from the product's own, so that one does not share the other's mistakes.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field

Document = dict[str, int]
"""Term → count."""


@dataclass
class TfidfClassifier:
    """Logistic regression by AdaGrad on (1 + ln tf)·idf vectors of length 1; document frequencies are those of the training pages."""

    passes: int = 8
    rate: float = 0.5
    idf: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    bias: float = 0.0

    def fit(self, documents: list[Document], labels: list[bool]) -> None:
        frequencies = Counter(term for document in documents for term in document)
        self.idf = {
            term: 1 + math.log((1 + len(documents)) / (1 + number))
            for term, number in frequencies.items()
            if number > 1
        }
        vectors = [self._vector(document) for document in documents]
        weights = self.weights = dict.fromkeys(self.idf, 0.0)
        squares = dict.fromkeys(self.idf, 1e-6)
        square = 1e-6
        order = list(range(len(vectors)))
        rng = random.Random(1)
        for _ in range(self.passes):
            rng.shuffle(order)
            for index in order:
                vector = vectors[index]
                logit = self.bias + sum([weights[term] * value for term, value in vector])
                error = labels[index] - 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))
                if abs(error) < 0.01:
                    continue
                square += error * error
                self.bias += self.rate * error / math.sqrt(square)
                for term, value in vector:
                    gradient = error * value
                    squares[term] += gradient * gradient
                    weights[term] += self.rate * gradient / math.sqrt(squares[term])

    def logit(self, document: Document) -> float:
        return self.bias + sum(self.weights[term] * value for term, value in self._vector(document))

    def _vector(self, document: Document) -> list[tuple[str, float]]:
        idf = self.idf
        vector = [(term, (1 + math.log(count)) * idf[term]) for term, count in document.items() if term in idf]
        length = math.sqrt(sum([value * value for _, value in vector])) or 1.0
        return [(term, value / length) for term, value in vector]
