"""Words of links: no evidence at first, then what they have led to; bounded, saved, shared."""

from __future__ import annotations

import math

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.scoring.linkwords import ANCHOR, BOUND, BUCKETS, MOST_WORDS, URL, LinkWords, buckets

texts = st.lists(st.sampled_from(["manual", "login", "wiki", "教程", "index"]), max_size=6).map(" ".join)
lessons = st.lists(st.tuples(texts, st.floats(-1, 1)), max_size=40)


def taught(*lessons):
    words = LinkWords()
    for text, error in lessons:
        words.learn(error, buckets(ANCHOR, text.split()))
    return words


def evidence(words, text, where=ANCHOR):
    return words.evidence(buckets(where, text.split()))


@given(texts)
def test_before_anything_is_learned_words_tell_nothing(text):
    assert evidence(LinkWords(), text) == 0.0


def test_words_that_led_to_relevant_pages_speak_for_a_link_and_others_against():
    words = taught(*[("reference manual", -0.8), ("log in", 0.3)] * 5)
    assert evidence(words, "the manual") > 0.2 > 0.0 > evidence(words, "log in here")
    assert evidence(words, "something else") == 0.0


def test_a_word_means_something_else_in_an_anchor_than_in_a_url():
    words = taught(("manual", -0.8))
    assert evidence(words, "manual") > 0.0 == evidence(words, "manual", where=URL)


def test_case_and_repetition_of_a_word_do_not_count():
    assert buckets(ANCHOR, ["Wiki", "WIKI", "wiki"]) == buckets(ANCHOR, ["wiki"])


def test_chinese_words_are_learned_too():
    assert evidence(taught(("教程", -0.9)), "教程") > 0.0


def test_only_the_first_words_of_a_long_text_are_read():
    long = [f"word{number}" for number in range(10 * MOST_WORDS)]
    assert buckets(ANCHOR, long) == buckets(ANCHOR, long[:MOST_WORDS])


@given(lessons, texts)
def test_evidence_is_bounded(lessons, text):
    words = taught(*lessons * 20)
    assert -BOUND <= evidence(words, text) <= BOUND


def test_steps_become_smaller_the_more_a_word_was_corrected():
    words = LinkWords()
    heights = []
    for _ in range(4):
        words.learn(-0.5, buckets(ANCHOR, ["wiki"]))
        heights.append(evidence(words, "wiki"))
    steps = [after - before for before, after in zip([0.0, *heights], heights, strict=False)]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] == pytest.approx(0.1 * 0.5 / math.sqrt(1.25))


@given(lessons, lessons, texts)
def test_agents_that_exchange_changes_agree(ours, theirs, text):
    one, other = taught(*ours), taught(*theirs)
    told_by_one, told_by_other = one.changes(), other.changes()
    one.merge(told_by_other)
    other.merge(told_by_one)
    assert evidence(one, text) == pytest.approx(evidence(other, text))
    assert one.changes() == other.changes() == b"", "what was heard is not passed on"


@given(lessons, texts)
def test_a_saved_state_goes_on_as_it_was(lessons, text):
    words, again = taught(*lessons), LinkWords()
    again.merge(words.state())
    assert len(again) == len(words)
    for one in (words, again):
        one.learn(-0.4, buckets(ANCHOR, ["wiki", "index"]))
    assert evidence(again, text) == evidence(words, text)


@pytest.mark.parametrize(
    "junk",
    [
        b"\xc1",
        msgpack.packb(5),
        msgpack.packb((7, {})),
        msgpack.packb((1, {BUCKETS: [0.0, 1.0]})),
        msgpack.packb((1, {"word": [0.0, 1.0]})),
        msgpack.packb((1, {3: [math.nan, 1.0]})),
        msgpack.packb((1, {3: [1.0]})),
    ],
)
def test_what_holds_no_words_is_refused_and_changes_nothing(junk):
    words = taught(("wiki", -0.5))
    before = words.state()
    with pytest.raises(ValueError, match="words of links"):
        words.merge(junk)
    assert words.state() == before


@pytest.mark.parametrize("error", [-1.1, 1.1, math.nan])
def test_an_error_that_is_no_difference_of_probabilities_is_refused(error):
    with pytest.raises(ValueError, match="probabilities"):
        LinkWords().learn(error, (1,))
