"""Relevance by both models, against a naive reading of the formulas."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.certainty import Certainty
from extensions.errors import ConfigurationError
from extensions.scoring import BooleanModel, Relevance, Topic, VectorModel, make_model, terms

TOPIC = Topic.parse("rust:2, ownership, borrow checker:1.5, 标准库")
VOCABULARY = ["rust", "Ownership", "borrow", "checkers", "checker", "lifetime", "the", "标准库", "库", "标准", "moon"]
texts = st.lists(st.sampled_from(VOCABULARY), max_size=40).map(" ".join)


def naive(topic, text):
    """The cosine by vectors over all terms, counting phrases by windows."""
    page = terms(text)
    counts = [
        sum(tuple(page[at : at + len(term)]) == term for at in range(len(page) - len(term) + 1)) for term in topic.terms
    ]
    if not any(counts):
        return 0.0
    weights = list(topic.terms.values())
    vector = [count / max(counts) * weight for count, weight in zip(counts, weights, strict=True)]
    dot = sum(x * w for x, w in zip(vector, weights, strict=True))
    return dot / math.sqrt(sum(x * x for x in vector)) / math.sqrt(sum(w * w for w in weights))


@given(texts, texts)
def test_vector_relevance_is_four_times_the_titles_cosine_plus_the_bodys(title, text):
    found = VectorModel(TOPIC).score(title, text)
    b, c = naive(TOPIC, title), naive(TOPIC, text)
    assert found.title_similarity == pytest.approx(b)
    assert found.body_similarity == pytest.approx(c)
    assert found.relevance == pytest.approx(4 * b + c)
    assert found.on_topic == (found.relevance > 2)


@given(st.text(max_size=200) | texts, st.text(max_size=200) | texts)
def test_vector_relevance_lies_between_zero_and_five(title, text):
    found = VectorModel(TOPIC).score(title, text)
    assert 0.0 <= found.title_similarity <= 1.0
    assert 0.0 <= found.body_similarity <= 1.0
    assert 0.0 <= found.relevance <= 5.0


@pytest.mark.parametrize("spec", ["rust", "rust:0.001", "rust:1000, ownership:0.001", "rust:2, borrow checker, 标准库"])
def test_a_page_whose_title_and_body_are_the_topic_scores_five(spec):
    topic = Topic.parse(spec)
    text = ". ".join(topic.names.values())
    assert VectorModel(topic).score(text, text).relevance == pytest.approx(5.0)


def test_a_page_without_the_topic_or_without_anything_scores_zero():
    for title, text in [("", ""), ("The moon", "a full moon"), ("", "checker borrow")]:
        assert VectorModel(TOPIC).score(title, text) == Relevance(0.0, 0.0, 0.0, on_topic=False)


def test_a_phrase_counts_where_its_words_stand_together_stop_words_aside():
    model = VectorModel(Topic.parse("state of the art,"))
    assert model.score("", "The states of arts").body_similarity == pytest.approx(1.0)
    assert model.score("", "The art of the state").body_similarity == 0.0


def test_a_worked_example():
    # Title: rust once; cosine w₁/|w| = 2/√(4+1). Body: rust 2 of 2, ownership 1 of 2: (2·2 + ½·1) / (√(4+¼)·√5).
    found = VectorModel(Topic.parse("rust:2, ownership")).score("Rust!", "rust, rust, ownership")
    assert found.title_similarity == pytest.approx(2 / math.sqrt(5))
    assert found.body_similarity == pytest.approx(4.5 / (math.sqrt(4.25) * math.sqrt(5)))


@given(texts, texts)
def test_boolean_relevance_is_the_size_of_the_intersection(title, text):
    topic_words = set(itertools.chain.from_iterable(TOPIC.terms))
    found = BooleanModel(TOPIC).score(title, text)
    assert found.relevance == len(topic_words & set(terms(title) + terms(text)))
    assert found.on_topic == (found.relevance >= len(topic_words) / 2)


@pytest.mark.parametrize(("number", "needed"), [(1, 1), (2, 1), (3, 2), (4, 2), (9, 5), (10, 5)])
def test_the_boolean_threshold_asks_for_half_of_the_words(number, needed):
    words = ["lion", "tiger", "zebra", "camel", "panda", "otter", "koala", "mouse", "horse", "whale"][:number]
    model = BooleanModel(Topic.parse(",".join(words)))
    assert model.score("", " ".join(words[:needed])).on_topic
    assert not model.score("", " ".join(words[: needed - 1])).on_topic


@pytest.mark.parametrize("name", ["vector", "boolean", "bm25", "context"])
def test_probability_rises_with_relevance_from_low_to_high_with_half_at_the_threshold(name):
    model = make_model(name, TOPIC, None)
    values = [model.probability(step / 10) for step in range(60)]
    assert values == sorted(values)
    assert all(0.0 < value < 1.0 for value in values)
    assert model.probability(model.threshold) == pytest.approx(0.5)
    assert model.probability(-1e9) == pytest.approx(0.0)
    assert model.probability(1e9) == pytest.approx(1.0)


ALL = ["vector", "boolean", "bm25", "context"]
pages = st.tuples(texts, texts)
shares = st.integers(5, 85).map(lambda percent: percent / 100)


@pytest.mark.parametrize("name", ALL)
@given(page=pages, share=shares)
def test_a_certainty_means_the_same_probability_in_every_model(name, page, share):
    model = make_model(name, TOPIC, Certainty(share))
    found = model.score(*page)
    assert found.on_topic == (model.calibrated(found.relevance) > share)


@pytest.mark.parametrize("name", ALL)
@given(page=pages, share=shares)
def test_links_of_pages_above_a_certainty_promise_more_than_even_odds(name, page, share):
    model = make_model(name, TOPIC, Certainty(share))
    found = model.score(*page)
    assert model.probability(model.threshold) == pytest.approx(0.5)
    assert model.promise(found) == pytest.approx(0.5) or (model.promise(found) > 0.5) == found.on_topic


@pytest.mark.parametrize("name", ALL)
@given(share=st.floats(0.01, 0.99))
def test_the_relevance_at_a_probability_has_it(name, share):
    model = make_model(name, TOPIC)
    assert model.calibrated(model.relevance_at(share)) == pytest.approx(share)


@pytest.mark.parametrize("name", ALL)
def test_the_calibrated_probability_does_not_depend_on_the_threshold(name):
    models = [make_model(name, TOPIC, threshold) for threshold in (None, 0.2, 3.0, Certainty(0.8))]
    for step in range(60):
        assert len({model.calibrated(step / 60 * model.highest) for model in models}) == 1


@pytest.mark.parametrize("name", ALL)
def test_a_page_without_the_topic_is_hardly_on_it_and_one_that_is_nothing_else_very_likely(name):
    for number in (1, 2, 5, 10):
        words = ["lion", "tiger", "zebra", "camel", "panda", "otter", "koala", "mouse", "horse", "whale"][:number]
        model = make_model(name, Topic.parse(",".join(words)))
        assert model.calibrated(model.score("the moon", "a full moon").relevance) < 0.15
        assert model.calibrated(model.score(" ".join(words), " ".join(words)).relevance) > 0.7


def test_all_of_many_words_tell_more_than_a_single_one_and_half_of_them_less():
    single, many = (BooleanModel(Topic.parse(words)) for words in ("lion", "lion, tiger, zebra, camel, panda, otter"))
    assert many.calibrated(6) > single.calibrated(1) > many.calibrated(3)


@pytest.mark.parametrize(
    ("name", "topic", "share", "surest"), [("boolean", "rust", 0.8, "75%"), ("vector", "rust", 0.99, "97%")]
)
def test_a_certainty_that_no_page_can_reach_is_refused_with_the_greatest_there_is(name, topic, share, surest):
    with pytest.raises(
        ConfigurationError, match=rf"TOPIC_THRESHOLD is {share:.0%}, .*'{name}' is never .* {surest}; lower it"
    ):
        make_model(name, Topic.parse(topic), Certainty(share))
    text = " ".join([topic] * 50)
    assert make_model(name, Topic.parse(topic), Certainty(0.7)).score(text, text).on_topic


@pytest.mark.parametrize(("given_text", "share"), [("60%", 0.6), (" 62.5 % ", 0.625), ("87.5%", 0.875)])
def test_a_percentage_is_read_and_written(given_text, share):
    assert Certainty.parse(given_text) == Certainty(share)
    assert Certainty.parse(str(Certainty(share))) == Certainty(share)


@pytest.mark.parametrize(
    "nonsense", ["", "%", "0.6", "60", "0%", "100%", "150%", "-5%", "nan%", "inf%", "60%%", "%60", "abc"]
)
def test_what_is_no_percentage_of_some_certainty_is_refused(nonsense):
    with pytest.raises(ValueError):
        Certainty.parse(nonsense)


def test_a_given_threshold_is_kept_and_an_unknown_model_lists_the_known():
    assert make_model("vector", TOPIC, 0.0).threshold == 0.0
    assert make_model("vector", TOPIC, None).threshold == 2.0
    assert make_model("boolean", TOPIC, 2.0).threshold == 2.0
    with pytest.raises(ConfigurationError, match="'bayes'; there are: bm25, boolean, context, examples, vector"):
        make_model("bayes", TOPIC, None)


@pytest.mark.parametrize("name", ["vector", "boolean", "bm25"])
@given(st.tuples(texts, texts))
def test_where_only_words_count_a_tunnel_ends_at_pages_on_topic_and_nowhere_else(name, page):
    model = make_model(name, TOPIC, None)
    found = model.score(*page)
    assert model.ends_tunnel(found) == found.on_topic
