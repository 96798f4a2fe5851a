"""The model `bm25`: coverage, length, rarity, phrases that match partly, and one threshold for all topics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.scoring import CoverageModel, Topic, VectorModel, terms
from extensions.scoring.background import RAREST, rarity
from extensions.scoring.coverage import phrase_counts

TOPIC = Topic.parse("rust:2, ownership, borrow checker:1.5, 标准库")
VOCABULARY = ["rust", "Ownership", "borrow", "checkers", "checker", "lifetime", "the", "标准库", "库", "标准", "moon"]
texts = st.lists(st.sampled_from(VOCABULARY), max_size=40).map(" ".join)
FILLER = "Some sentences about nothing in particular fill up the page and leave the reader as wise as before. "


def relevance(topic, title, text):
    return CoverageModel(Topic.parse(topic)).score(title, text).relevance


@given(texts | st.text(max_size=100), texts | st.text(max_size=100))
def test_relevance_is_a_probability_and_the_similarities_are_the_vector_models(title, text):
    found, vector = CoverageModel(TOPIC).score(title, text), VectorModel(TOPIC).score(title, text)
    assert 0.0 < found.relevance < 1.0
    assert found.on_topic == (found.relevance > 0.5)
    assert (found.title_similarity, found.body_similarity) == (vector.title_similarity, vector.body_similarity)


@given(texts, texts, st.sampled_from(["rust", "ownership", "borrow checker", "标准库"]))
def test_relevance_never_falls_when_the_title_names_a_term_more(title, text, term):
    model = CoverageModel(TOPIC)
    # Set apart from what stands before, lest a phrase's first word there be near the new one.
    assert model.score(f"{title} {term}", text).relevance >= model.score(title, text).relevance - 1e-12


def test_one_passing_mention_on_a_long_page_is_not_enough_and_many_are():
    topic = "rust, ownership, borrow checker, lifetimes"
    assert relevance(topic, "News", FILLER * 50 + "One could have used rust here.") < 0.3
    assert relevance(topic, "News", (FILLER + "Rust checks ownership with its borrow checker. ") * 20) > 0.5


def test_more_of_the_topic_counts_more_than_more_of_one_term():
    topic = "rust, ownership, lifetimes"
    one, all_three = ("rust " * 9 + FILLER * 9), ("rust ownership lifetimes " * 3 + FILLER * 9)
    assert relevance(topic, "", all_three) > relevance(topic, "", one)


def test_the_same_mentions_count_less_on_a_longer_page():
    assert relevance("ownership", "", "ownership " + FILLER) > relevance("ownership", "", "ownership " + FILLER * 99)


def test_a_rare_word_of_a_topic_counts_more_than_a_common_one():
    assert rarity("eigenvalu") == RAREST > rarity("system") > 0
    assert rarity("队列") > rarity("中国") > 0
    topic = "system, eigenvalues"
    assert relevance(topic, "", "eigenvalues " + FILLER) > relevance(topic, "", "system " + FILLER)


def test_a_phrase_counts_most_together_less_nearby_and_least_apart():
    together = relevance("pattern matching,", "", f"pattern matching. {FILLER * 3}")
    near = relevance("pattern matching,", "", f"matching of a given pattern. {FILLER * 3}")
    apart = relevance("pattern matching,", "", f"a pattern. {FILLER * 3} a match.")
    nothing = relevance("pattern matching,", "", FILLER * 3)
    assert together > near > apart > nothing


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a b", (1, 0)), ("b a", (0, 1)), ("a x x b", (0, 1)), ("a" + " x" * 9 + " b", (0, 0)), ("a b a b a", (2, 1))],
)
def test_phrases_together_and_near(text, expected):
    at = {}
    for position, word in enumerate(text.split()):
        at.setdefault(word, []).append(position)
    assert phrase_counts(("a", "b"), at) == expected


@pytest.mark.parametrize(
    "topic",
    [
        "compost",
        "python",
        "微服务",
        "compost, soil",
        "compost, soil, worms, mulch, heap, leaf mould, garden waste, humus, aerobic, kitchen scraps",
    ],
)
def test_topics_of_one_word_and_of_ten_share_a_threshold(topic):
    names = list(Topic.parse(topic).names.values())
    about = (". ".join(names[:4]) + ". " + FILLER) * 5
    assert relevance(topic, f"All about {names[0]}", about) > 0.5
    assert relevance(topic, "All about the moon", FILLER * 5) < 0.1


def test_british_and_american_spellings_are_one_word():
    assert terms("optimisation factorise colour behaviour") == terms("optimization factorize color behavior")
    assert relevance("matrix factorisation,", "Matrix factorization", "") > 0.5


def test_probability_is_the_relevance_and_moves_with_the_threshold():
    assert CoverageModel(TOPIC).probability(0.7) == pytest.approx(0.7)
    moved = CoverageModel(TOPIC, 0.2)
    assert moved.probability(0.2) == pytest.approx(0.5)
    assert moved.probability(0.7) > 0.7
    assert CoverageModel(TOPIC, 0.0).probability(0.0) == pytest.approx(0.5)
