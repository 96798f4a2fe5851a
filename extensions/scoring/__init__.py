"""What a topic is, how relevant a page is to it, and how promising a link.

`Topic` holds weighted terms, `segment.terms` turns any text into the same kind of terms, a `Model` measures the *relevance* of a
fetched page, and `link_quality` predicts from a link's surroundings the *quality* of a page not yet fetched. Relevance has the scale of
its model; quality is a probability, 0 to 1. Everything here is pure computation on strings.
"""

from extensions.scoring.choice import MODELS, make_model
from extensions.scoring.context import ContextModel
from extensions.scoring.coverage import CoverageModel
from extensions.scoring.examples import Example, Examples, ExamplesModel
from extensions.scoring.learner import Learner
from extensions.scoring.linkjudge import LinkJudge
from extensions.scoring.linkmodel import LinkFeatures, LinkModel
from extensions.scoring.links import LinkMatcher, link_quality
from extensions.scoring.linkwords import LinkWords
from extensions.scoring.models import BooleanModel, Model, Relevance, VectorModel
from extensions.scoring.segment import terms
from extensions.scoring.topic import Topic

__all__ = [
    "MODELS",
    "BooleanModel",
    "ContextModel",
    "CoverageModel",
    "Example",
    "Examples",
    "ExamplesModel",
    "Learner",
    "LinkFeatures",
    "LinkJudge",
    "LinkMatcher",
    "LinkModel",
    "LinkWords",
    "Model",
    "Relevance",
    "Topic",
    "VectorModel",
    "link_quality",
    "make_model",
    "terms",
]
