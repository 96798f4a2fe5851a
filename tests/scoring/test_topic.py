"""Topics from words, from files and from texts, and what is said of bad ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.errors import ConfigurationError
from extensions.scoring import Topic


def test_words_phrases_and_weights_are_read():
    topic = Topic.parse("rust:2, ownership, borrow checker:1.5")
    assert topic.terms == {("rust",): 2.0, ("ownership",): 1.0, ("borrow", "checker"): 1.5}
    assert topic.names[("borrow", "checker")] == "borrow checker"


@pytest.mark.parametrize("separator", [",", "，", "、", ";", "；", "\n", " ,\n"])
def test_every_usual_separator_works(separator):
    assert set(Topic.parse(f"rust{separator}borrow checker").terms) == {("rust",), ("borrow", "checker")}


def test_without_commas_every_word_is_a_term_and_chinese_compounds_are_phrases():
    assert list(Topic.parse("Python 标准库 模块 函数 类 异常").terms) == [
        ("python",),
        ("标准", "库"),
        ("模块",),
        ("函数",),
        ("类",),
        ("异常",),
    ]


def test_a_comma_at_the_end_makes_a_single_phrase():
    assert list(Topic.parse("borrow checker,").terms) == [("borrow", "checker")]


def test_full_width_signs_are_signs():
    assert Topic.parse("队列：２，消息").terms == {("队列",): 2.0, ("消息",): 1.0}


def test_a_term_given_twice_keeps_the_greater_weight_and_the_first_spelling():
    topic = Topic.parse("matches:2, matching:3, match")
    assert topic.terms == {("match",): 3.0}
    assert topic.names == {("match",): "matches"}


def test_a_stop_word_among_words_is_passed_over():
    assert list(Topic.parse("lions, and, tigers").terms) == [("lion",), ("tiger",)]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "is empty"),
        (" ,\n，", "is empty"),
        ("the, of", "stop words"),
        ("的", "stop words"),
        ("!!!", "stop words"),
        ("rust:fast", "'fast' is not a weight"),
        ("rust:0", "'0' is not a weight"),
        ("rust:-1", "'-1' is not a weight"),
        ("rust:nan", "'nan' is not a weight"),
        ("rust:inf", "'inf' is not a weight"),
        ("rust:1e200", "'1e200' is not a weight"),
        ("rust:1e-200", "'1e-200' is not a weight"),
        ("rust:", "colon in an odd place"),
        (":2", "colon in an odd place"),
        ("std::vector, rust", "colon in an odd place"),
        ("rust:2:3", "colon in an odd place"),
    ],
)
def test_a_bad_topic_is_told_in_one_sentence_that_shows_what_to_write(spec, says):
    with pytest.raises(ConfigurationError) as raised:
        Topic.parse(spec)
    message = str(raised.value)
    assert says in message
    assert "rust:2" in message
    assert "\n" not in message


word = st.text("abcdefghijklmnopqrstuvwxyz标准库模块", min_size=1, max_size=8)
phrase = st.lists(word, min_size=1, max_size=3).map(" ".join)
weight = st.floats(0.001, 1000) | st.just(1.0)


@given(st.lists(st.tuples(phrase, weight), min_size=1, max_size=8))
def test_a_topic_survives_being_written_and_read(parts):
    try:
        topic = Topic.parse(", ".join(f"{name}:{weight}" for name, weight in parts) + ",")
    except ConfigurationError:  # nothing but stop words
        return
    assert Topic.parse(str(topic)) == topic
    assert str(Topic.parse(str(topic))) == str(topic)


@given(st.text(max_size=60))
def test_any_topic_at_all_is_read_or_refused(spec):
    try:
        topic = Topic.parse(spec)
    except ConfigurationError:
        return
    assert topic.terms
    assert set(topic.terms) == set(topic.names)
    assert all(term and all(term) for term in topic.terms)


PROSE = """A regular expression is a sequence of characters that specifies a match pattern in text. Regular expressions are
used in search engines, in search and replace dialogs, and in lexical analysis. Most languages have a regular expression engine."""


def test_a_text_gives_its_frequent_words_with_saturating_weights():
    topic = Topic.from_text(PROSE)
    assert list(topic.terms)[:2] == [("regular",), ("express",)]
    assert topic.terms[("regular",)] == 0.5
    assert topic.terms[("search",)] == 0.4
    assert topic.names[("express",)] == "expression"
    assert (
        len(Topic.from_text(" ".join(f"word{'abcdefghijklmnopqrstuvwxyz'[n % 26]}{n}" for n in range(90))).terms) == 25
    )


def test_a_chinese_text_gives_chinese_terms():
    assert ("队列",) in Topic.from_text("消息队列是一种进程间通信的方式。消息队列把消息放入队列。").terms


def test_a_text_without_words_is_refused():
    with pytest.raises(ConfigurationError, match="no words"):
        Topic.from_text("the 的 1 2 3 …")


def test_a_file_may_hold_a_line_of_words_a_term_a_line_or_a_text(tmp_path):
    file = tmp_path / "topic.txt"
    file.write_text("rust:2, borrow checker\n", "utf-8")
    assert Topic.load(f"@{file}").terms == {("rust",): 2.0, ("borrow", "checker"): 1.0}
    file.write_text("\ufeff# what it is about\nrust\nborrow checker:3\n", "utf-8")
    assert Topic.load(f"@{file}").terms == {("rust",): 1.0, ("borrow", "checker"): 3.0}
    many = [f"term{n} word{n}" for n in range(60)]
    file.write_text("\n".join(many), "utf-8")
    assert len(Topic.load(f"@{file}").terms) == 60
    file.write_text(PROSE, "utf-8")
    assert Topic.load(f"@{file}") == Topic.from_text(PROSE)
    assert Topic.load(" rust ") == Topic.parse("rust")


def test_a_topic_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"no topic file .*nothing.txt; check the path"):
        Topic.load(f"@{tmp_path}/nothing.txt")
    with pytest.raises(ConfigurationError, match=r"cannot be read .*; give a text file"):
        Topic.load(f"@{tmp_path}")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        Topic.load(f"@{binary}")
    binary.write_bytes(b"\n")
    with pytest.raises(ConfigurationError, match=r"topic file .*binary: The topic is empty"):
        Topic.load(f"@{binary}")
