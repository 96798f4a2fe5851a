"""Text as terms: two languages, inflections, stop words, bounds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.scoring.segment import LONGEST_TEXT, terms
from extensions.scoring.stopwords import STOP_WORDS


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("regular expression", "Regular Expressions"),
        ("match", "matching"),
        ("commit", "committed"),
        ("repository", "repositories"),
        ("python", "Python's"),
        ("python", "Python’s"),
        ("python", "ＰＹＴＨＯＮ"),
    ],
)
def test_inflections_and_spellings_of_a_word_are_one_term(one, other):
    assert terms(one) == terms(other) != []


def test_stop_words_of_both_languages_are_left_out_and_order_is_kept():
    assert terms("the state of the art, it isn't 我们的 状态") == ["state", "art", "状态"]


def test_chinese_is_segmented_into_words():
    assert terms("标准库的模块和函数") == ["标准", "库", "模块", "函数"]


def test_mixed_text_keeps_the_order_of_both_languages():
    assert terms("用Python编写的RPC框架") == ["python", "编写", "rpc", "框架"]


def test_languages_named_by_a_letter_stay_apart():
    assert terms("C, C++ and C#; R, go, F#") == ["c", "c++", "c#", "r", "go", "f#"]


@given(st.text(max_size=300))
def test_any_text_gives_terms_that_are_neither_empty_nor_stop_words(text):
    found = terms(text)
    assert all(found)
    assert not {word for word in found if word in STOP_WORDS} & set(text.lower().split())


def test_terms_are_the_same_when_the_caches_are_warm():
    text = "Matching 匹配 patterns, patterned"
    assert terms(text) == terms(text)


def test_a_page_of_one_endless_word_is_bounded():
    assert terms("x" * 10_000_000) == []
    assert len(terms("word " * LONGEST_TEXT)) == LONGEST_TEXT // 5


def test_twenty_kilobytes_take_milliseconds():
    text = ("Regular expressions are matched by backtracking engines; their syntax varies. " * 300)[:20_000]
    terms(text)
    best = min(_seconds(text) for _ in range(5))
    assert best < 0.02, "ten times what an idle machine needs"


def _seconds(text: str) -> float:
    start = time.perf_counter()
    terms(text)
    return time.perf_counter() - start
