"""What the seeds' pages add to a topic: their rare words, as far as the seeds are on topic by the words that were given."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extensions.scoring import ContextModel, CoverageModel, Examples, Topic, make_model, terms
from extensions.scoring.background import RAREST, rarity
from extensions.scoring.expansion import ENOUGH, SCARCE, WEIGHT, WORDS, Expansion

TOPIC = Topic.parse("linear algebra, eigenvalues")
FILLER = "Some sentences about nothing in particular fill up the page and leave the reader as wise as before. "
SEED = (
    "Linear algebra and eigenvalues",
    "Linear algebra with Cholesky and Householder: eigenvalues by Cholesky, in 1024 steps of x. " * 5,
)
PORTAL = ("Everything", "Zeppelins and zithers for zookeepers. " * 5)
KIN = ("Householder", FILLER * 2 + "Cholesky comes after Householder. " * 3)
DULL = ("Appendix", FILLER * 5)

words = st.text("abcdefghij", min_size=2, max_size=8)
pages = st.lists(st.tuples(st.lists(words, max_size=5), st.lists(words, max_size=20), st.floats(0, 1)), max_size=8)


def taught(*seeds, topic=TOPIC, capacity=1000):
    """By pages as title, text and probability."""
    expansion = Expansion(topic, capacity)
    for title, text, probability in seeds:
        expansion.take_in(terms(title), terms(text), probability)
    return expansion


def taken_in(some, capacity=1000):
    expansion = Expansion(TOPIC, capacity)
    for page in some:
        expansion.take_in(*page)
    return expansion


def kept(expansion):
    """Sums as they are saved; exact up to the order in which floats were added."""
    _, sums, total = msgpack.unpackb(expansion.state())
    return {stem: pytest.approx(amount) for stem, amount in sums.items()}, pytest.approx(total)


def model_with(*seeds, examples=None):
    model = make_model("context", TOPIC, examples=examples)
    for seed in seeds:
        model.meet_seed(*seed)
    return model


def relevance(model, page=KIN):
    return model.judge("https://new.test/page.html", *page).relevance


def test_rare_words_of_a_seed_are_added_and_no_common_given_or_meaningless_ones():
    gains = taught((*SEED, 1.0)).gains(0.0)
    assert {"choleski", "household"} <= {*gains}
    assert not {*gains} & {*terms("linear algebra eigenvalues with steps of")}
    assert not {"1024", "x"} & {*gains}
    assert all(rarity(stem) >= 6 for stem in gains)


def test_a_words_gain_stays_below_that_of_an_equally_rare_word_of_the_topic():
    gains = taught(*[(*SEED, 1.0)] * 1000).gains(0.0)
    assert max(gains.values()) == pytest.approx(WEIGHT * RAREST, rel=0.01)


def test_there_are_only_so_many_words_however_many_a_seed_has():
    body = " ".join(f"word{chr(97 + a)}{chr(97 + b)}" for a in range(26) for b in range(26))
    expansion = taught(("", body, 1.0))
    assert len(expansion.gains(0.0)) == WORDS
    assert len(expansion) < 26 * 26


def test_a_page_with_the_seeds_words_is_more_relevant_than_without_seeds():
    assert relevance(model_with(SEED)) > 2 * relevance(model_with())
    assert relevance(model_with(SEED), DULL) <= relevance(model_with(), DULL)


def test_a_seed_that_is_off_topic_by_the_given_words_adds_little():
    like_the_portal = ("Zithers", "Zeppelins, zithers and zookeepers. " * 5)
    alone = relevance(model_with(), like_the_portal)
    assert alone <= relevance(model_with(PORTAL), like_the_portal) < 2 * alone
    assert relevance(model_with(SEED, PORTAL), like_the_portal) < 2 * alone
    assert relevance(model_with(SEED, PORTAL)) == pytest.approx(relevance(model_with(SEED)), rel=0.1)


def test_a_seed_is_weighed_by_the_given_words_and_not_by_those_that_others_added():
    model = model_with(SEED)
    relevance(model)
    _, before = kept(model.seeds)
    model.meet_seed(*KIN)
    _, after = kept(model.seeds)
    _, alone = kept(model_with(KIN).seeds)
    assert after.expected - before.expected == pytest.approx(alone.expected)


def test_words_fade_as_the_topics_own_become_enough():
    expansion = taught((*SEED, 1.0))
    full = expansion.gains(SCARCE)
    assert full == expansion.gains(0.0)
    between = expansion.gains((SCARCE + ENOUGH) / 2)
    assert between == {stem: pytest.approx(gain / 2) for stem, gain in full.items()}
    assert expansion.gains(ENOUGH) == expansion.gains(1.0) == {}


def test_chinese_words_are_added_as_well():
    topic = Topic.parse("线性代数")
    gains = taught(("线性代数", "矩阵 的 特征值 和 特征向量 。矩阵 分解", 1.0), topic=topic).gains(0.0)
    assert "矩阵" in gains
    assert not {*terms("线性代数")} & {*gains}


def test_without_seeds_and_with_empty_ones_nothing_is_added():
    for seeds in ((), (("", "", 1.0),), ((*SEED, 0.0),)):
        assert taught(*seeds).gains(0.0) == {}
    assert relevance(model_with(("", ""))) == relevance(model_with())


def test_seeds_add_words_until_there_are_examples():
    awaited = "https://example.test/kin"
    examples = Examples(urls={"example.test/kin": True})
    seeded, plain = (model_with(*seeds, examples=examples) for seeds in ((SEED,), ()))
    assert relevance(seeded) > 2 * relevance(plain)
    for model in (seeded, plain):
        model.meet(awaited, *KIN)
    again = ("Other", KIN[1])
    assert seeded.judge("https://c.test/", *again).words == plain.judge("https://c.test/", *again).words


def test_other_models_take_seeds_for_pages_like_all_others():
    for name in ("bm25", "boolean", "vector"):
        model = make_model(name, TOPIC)
        before = model.judge("https://a.test/", *KIN)
        model.meet_seed(*SEED)
        assert model.seeds is None
        assert model.judge("https://a.test/", *KIN) == before


def test_what_was_added_to_a_topic_gives_way_to_what_is_added_later():
    model = CoverageModel(TOPIC)
    before = model.score(*KIN)
    model.add({"choleski": 2.0})
    assert model.score(*KIN).relevance > before.relevance
    model.add({})
    assert model.score(*KIN) == before


def test_words_are_bounded_and_the_best_stay():
    expansion = taught((*SEED, 1.0), capacity=10)
    for number in range(30):
        expansion.take_in([], [f"w{number}x{other}" for other in range(5)], 0.01)
        assert len(expansion) <= 10
    assert "choleski" in expansion.gains(0.0)


def test_an_agent_that_shares_nothing_keeps_nothing_to_share():
    expansion = Expansion(TOPIC, capacity=10)
    expansion.take_in([], ["choleski"], 1.0)
    expansion.take_in([], [f"w{number}" for number in range(20)], 1.0)
    assert expansion.changes() == b""
    assert len(expansion)


@settings(deadline=None)
@given(pages, pages)
def test_what_is_told_comes_to_the_same_as_having_seen_it(here, there):
    one, other, alone = taken_in(here), taken_in(there), taken_in(here + there)
    one.merge(other.changes())
    assert other.changes() == b""
    assert kept(one) == kept(alone)


@settings(deadline=None)
@given(pages)
def test_a_saved_expansion_goes_on_as_it_was(some):
    before, after = taken_in(some), Expansion(TOPIC)
    after.merge(before.state())
    assert after.gains(0.3) == before.gains(0.3)
    assert len(after) == len(before)
    assert after.changes() == b""


@pytest.mark.parametrize(
    "told",
    [
        b"no msgpack",
        msgpack.packb(7),
        msgpack.packb((1, {"a": "b"}, 1.0)),
        msgpack.packb((1, {"a": -1.0}, 1.0)),
        msgpack.packb((1, {}, float("nan"))),
        msgpack.packb((99, {}, 1.0)),
    ],
)
def test_what_is_no_expansion_is_refused_and_changes_nothing(told):
    expansion = taught((*SEED, 1.0))
    before = expansion.state()
    with pytest.raises(ValueError):
        expansion.merge(told)
    assert expansion.state() == before


def test_a_model_resumed_from_its_learners_judges_as_before():
    model = model_with(SEED)
    resumed = ContextModel(CoverageModel(TOPIC))
    resumed.seeds.merge(model.seeds.state())
    assert relevance(resumed) == relevance(model)
