"""The relevance model that the settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extensions.certainty import Certainty
from extensions.errors import ConfigurationError
from extensions.scoring.context import ContextModel
from extensions.scoring.coverage import CoverageModel
from extensions.scoring.examples import Examples, ExamplesModel
from extensions.scoring.models import BooleanModel, VectorModel

if TYPE_CHECKING:
    from extensions.scoring.models import Model
    from extensions.scoring.topic import Topic

MODELS = ("bm25", "boolean", "context", "examples", "vector")


def make_model(
    name: str, topic: Topic, threshold: float | Certainty | None = None, examples: Examples | None = None
) -> Model:
    """The model of that name, with its own threshold if none is given. Raises `ConfigurationError`.

    `examples` are for the model of that name, which needs some, and for `context`, whose words they teach.
    """
    if not isinstance(threshold, Certainty):
        return _model(name, topic, threshold, examples)
    model = _model(name, topic, None, examples)
    surest = model.calibrated(model.highest)
    if threshold.probability >= surest:
        raise ConfigurationError(
            f"TOPIC_THRESHOLD is {threshold}, but with this topic the model {name!r} is never surer of a page than {surest:.0%}; "
            "lower it, or choose another TOPIC_MODEL."
        )
    model.threshold = model.relevance_at(threshold.probability)
    return model


def _model(name: str, topic: Topic, threshold: float | None, examples: Examples | None) -> Model:
    own = {} if threshold is None else {"threshold": threshold}
    if name == "bm25":
        return CoverageModel(topic, **own)
    if name == "context":
        return ContextModel(ExamplesModel(topic, examples) if examples else CoverageModel(topic), **own)
    if name == "vector":
        return VectorModel(topic, **own)
    if name == "boolean":
        return BooleanModel(topic, threshold)
    if name == "examples":
        if not examples:
            raise ConfigurationError(
                "TOPIC_MODEL is 'examples', but there are none; name their file in TOPIC_EXAMPLES."
            )
        return ExamplesModel(topic, examples, **own)
    raise ConfigurationError(f"There is no relevance model {name!r}; there are: {', '.join(MODELS)}.")
