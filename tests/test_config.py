"""The configuration layer: every setting of the project, in whatever spelling it arrives."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

import settings.base
from extensions.certainty import Certainty
from extensions.config import PREFIXES, Config
from extensions.errors import ConfigurationError
from extensions.frontier.records import Policy
from extensions.reference import reference

if TYPE_CHECKING:
    from types import ModuleType

README = Path(__file__).parents[1] / "README.md"
DECLARED = {item.metadata["name"]: item for item in fields(Config)}

NAME = "up to 100 letters, digits, dots, hyphens and underscores"
COUNT = "a whole number of 0 or more"
DAY = "a number from 0 to 86400"
FLAG = "True or False"
WORDS = "a list of strings, or one string with commas"
TEXT = "a string"

# For each setting: what must be refused, the words in which it must be, and a value from the command line with what it means.
VALUES = {
    "FRONTIER_POLICY": (["best", ""], "one of capability, quality", "breadth_first", "breadth_first"),
    "FRONTIER_CRAWL": (["a/b", "..", "a b", "{a}", "x" * 101], NAME, "news-2.0_b", "news-2.0_b"),
    "FRONTIER_PARTITIONS": (["0", "4097", "1.5", "many", "nan"], "a whole number from 1 to 4096", "16", 16),
    "FRONTIER_LEASE_SECONDS": (["1", "86401", "-1", True], "a number from 2 to 86400", "2.5", 2.5),
    "FRONTIER_FLUSH_SECONDS": (["0", "61"], "a number from 0.005 to 60", "0.05", 0.05),
    "FRONTIER_MAX_PENDING_PER_SERVER": (["-1", "0.5", "inf"], COUNT, "7", 7),
    "FRONTIER_MAX_PAGES_PER_SERVER": (["-1", "0.5", "inf"], COUNT, "7", 7),
    "FRONTIER_MAX_FAILURES_PER_SERVER": (["-1", "0.5", "inf"], COUNT, "7", 7),
    "FRONTIER_EXPLORE": (["-0.1", "1.1", "some"], "a number from 0 to 1", "0.5", 0.5),
    "FRONTIER_AGENT": (["a:b", "-a"], NAME, "east1", "east1"),
    "FRONTIER_EMBEDDED_DIR": ([5], TEXT, "redis", "redis"),
    "CRAWL_DELAY": (["-0.1", "soon", "86401"], DAY, "0.25", 0.25),
    "CRAWL_DELAY_MAX": (["-1", "inf"], DAY, "120", 120.0),
    "CRAWL_DELAY_FACTOR": (["-1", "1001"], "a number from 0 to 1000", "0", 0.0),
    "CRAWL_CONTACT": ([5], TEXT, " me@example.org ", "me@example.org"),
    "CRAWL_MAX_RELEVANT": (["-1", "x"], COUNT, "200", 200),
    "CRAWL_MAX_PAGES": (["-1", "x"], COUNT, "200", 200),
    "CAMPAIGN": ([5], TEXT, "english", "english"),
    "SEEN_CACHE_POLICY": (["CLOCK", "mru"], "one of clock, random, lru, static", "lru", "lru"),
    "SEEN_CACHE_SIZE": (["0", "1e9"], "a whole number from 1 to", "1000", 1000),
    "SEEN_CACHE_FILE": ([5], TEXT, "popular.txt", "popular.txt"),
    "SEEN_EXPECTED_URLS": (["0", "1e12"], "a whole number from 1 to", "1e6", 1_000_000),
    "URL_DROP_PARAMETERS": ([5, [1]], WORDS, "sid, utm_*,", ("sid", "utm_*")),
    "TOPIC": ([5, ["rust"]], TEXT, "rust:2, 所有权", "rust:2, 所有权"),
    "TOPIC_SEEDS": ([5, [None]], WORDS, "http://a/,http://b/", ("http://a/", "http://b/")),
    "TOPIC_MODEL": (["bm26"], "one of context, bm25, vector, boolean, examples", "boolean", "boolean"),
    "TOPIC_EXAMPLES": ([5], TEXT, "examples.txt", "examples.txt"),
    "TOPIC_THRESHOLD": (
        ["-1", "low", "150%", "0%", "100%", "abc%", "nan%", "6%0", "60%%", True],
        "a number of 0 or more, a percentage above 0% and below 100%, or None",
        "1.5",
        1.5,
    ),
    "TOPIC_LEARN_LINKS": (["perhaps"], FLAG, "False", False),
    "TOPIC_TUNNEL": (["-1", "16", "2.5"], "a whole number from 0 to 15", "0", 0),
    "OUTPUT_DIR": ([5], TEXT, "output/here", "output/here"),
    "OUTPUT_PROGRESS_SECONDS": (["-1", "often"], DAY, "0", 0.0),
    "REDIS_URL": ([5], TEXT, "redis://localhost/3", "redis://localhost/3"),
    "REDIS_HOST": ([5], TEXT, "cache.example", "cache.example"),
    "REDIS_DB": (["-1", "x"], COUNT, "2", 2),
    "REDIS_PORT": (["0", "65536", "redis"], "a whole number from 1 to 65535", "6380", 6380),
    "REDIS_PARAMS": (["{", "[1]", 5], "a dictionary, or a JSON object", '{"db": 3}', {"db": 3}),
    "SCHEDULER_PERSIST": (["perhaps", "2"], FLAG, "no", False),
    "SCHEDULER_FLUSH_ON_START": (["perhaps"], FLAG, "1", True),
    "SCHEDULER_IDLE_BEFORE_CLOSE": (["-1", "inf"], "a number of 0 or more", "5", 5.0),
    "REDIS_START_URLS_KEY": ([5], TEXT, "%(name)s:seeds", "%(name)s:seeds"),
    "REDIS_START_URLS_AS_SET": (["perhaps"], FLAG, "True", True),
    "REDIS_START_URLS_AS_ZSET": (["perhaps"], FLAG, "False", False),
}
WRONG = [(name, value, allowed) for name, (refused, allowed, _, _) in VALUES.items() for value in refused]
RIGHT = [(name, given, meant) for name, (_, _, given, meant) in VALUES.items()]


def config(**values: object) -> Config:
    return Config.from_settings(Settings(values))


def capitals(module: ModuleType) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if name.isupper()}


# Declarations


def test_every_setting_is_declared_once_and_says_what_it_is_for():
    names = Counter(item.metadata["name"] for item in fields(Config))
    assert not [name for name, count in names.items() if count > 1]
    for name, item in DECLARED.items():
        assert re.fullmatch(r"[A-Z][A-Z_]*[A-Z]", name)
        assert item.metadata["doc"].endswith(".")


def test_every_setting_is_in_the_table_of_this_test():
    assert set(VALUES) == set(DECLARED)


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_a_default_is_a_value_that_is_allowed(name):
    item = DECLARED[name]
    default = item.metadata["parser"](item.default)
    assert default == item.default or (item.default is None and default == {})


def test_the_base_settings_repeat_the_defaults_and_set_no_unknown_name():
    ours = {name: value for name, value in capitals(settings.base).items() if name.startswith(PREFIXES)}
    assert ours
    for name, value in ours.items():
        assert value == DECLARED[name].default, name


def test_the_base_settings_are_a_configuration():
    base = Settings()
    base.setmodule(settings.base)
    assert Config.from_settings(base) == config()


# Values


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG)
def test_a_wrong_value_is_named_together_with_what_is_allowed(name, value, allowed):
    with pytest.raises(ConfigurationError) as refusal:
        config(**{name: value})
    assert str(refusal.value).startswith(f"{name} is {value!r}, but must be {allowed}")
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(("name", "given", "meant"), RIGHT)
def test_a_value_from_the_command_line_is_understood(name, given, meant):
    assert getattr(config(**{name: given}), DECLARED[name].name) == meant


@given(st.sampled_from(sorted(DECLARED)), st.text() | st.integers() | st.floats() | st.none() | st.binary())
def test_any_value_is_taken_or_refused_in_a_sentence(name, value):
    try:
        got = config(**{name: value})
    except ConfigurationError as refusal:
        assert str(refusal).startswith(f"{name} is ")  # noqa: PT017 - most values are refused, and some are not
    else:
        if isinstance(number := getattr(got, DECLARED[name].name), float):
            assert math.isfinite(number)


@pytest.mark.parametrize("spelling", [None, "", "None"])
def test_a_threshold_of_none_is_the_models_own(spelling):
    assert config(TOPIC_THRESHOLD=spelling).threshold is None


@pytest.mark.parametrize("spelling", ["60%", "60 %", " 60.0% "])
def test_a_threshold_in_percent_is_a_certainty(spelling):
    assert config(TOPIC_THRESHOLD=spelling).threshold == Certainty(0.6)


def test_a_list_may_be_a_list_or_one_string_with_commas():
    assert config(TOPIC_SEEDS=["http://a/", "http://b/?x=1,2"]).seeds == ("http://a/", "http://b/?x=1,2")
    assert config(TOPIC_SEEDS=" http://a/ ,, http://b/").seeds == ("http://a/", "http://b/")


# Names


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("FRONTIER_POLCY", "FRONTIER_POLICY"),
        ("SEEN_CACHE", "SEEN_CACHE_SIZE"),
        ("CRAWL_DELAYS", "CRAWL_DELAY"),
        ("TOPIC_TUNEL", "TOPIC_TUNNEL"),
        ("OUTPUT_FOLDER", "OUTPUT_DIR"),
        ("URL_DROP_PARAMS", "URL_DROP_PARAMETERS"),
    ],
)
def test_an_unknown_name_that_looks_like_ours_is_refused_with_a_suggestion(wrong, meant):
    with pytest.raises(ConfigurationError, match=f"no setting {wrong}; did you mean {meant}"):
        config(**{wrong: "1"})


def test_an_unknown_name_like_no_other_is_refused_with_the_place_of_the_list():
    with pytest.raises(ConfigurationError, match="no setting URL_ZZZZZZZZZZZZZZZZZZZZ; the README lists the settings"):
        config(URL_ZZZZZZZZZZZZZZZZZZZZ=1)


def test_settings_of_others_are_none_of_ours():
    assert config(URLLENGTH_LIMIT=100, CONCURRENT_REQUESTS=3, MYEXT_ENABLED=True, REDIS_ITEMS_KEY="x") == config()


# What follows from them


@pytest.mark.parametrize(
    ("delay", "download_delay", "counts"), [(1, 0, 1.0), (1, 3, 3.0), (4, 3, 4.0), (0, "0.5", 0.5)]
)
def test_scrapys_download_delay_counts_as_a_crawl_delay_if_it_is_greater(delay, download_delay, counts):
    got = config(CRAWL_DELAY=delay, DOWNLOAD_DELAY=download_delay)
    assert got.crawl_delay == counts
    assert got.rules(0).delay_ms == counts * 1000


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "topic"),
        ({"CAMPAIGN": "english"}, "topic-english"),
        ({"CAMPAIGN": "my campaign/2"}, "topic-my-campaign-2"),
        ({"CAMPAIGN": "english", "FRONTIER_CRAWL": "spring"}, "spring"),
    ],
)
def test_a_crawl_is_named_after_its_spider_and_its_campaign_unless_it_has_a_name(values, name):
    got = config(**values)
    assert got.crawl_of("topic") == name
    assert got.output_of("topic") == f"output/{name}"


def test_output_goes_where_it_is_told_whatever_the_crawl_is_called():
    assert config(OUTPUT_DIR="here", FRONTIER_CRAWL="spring").output_of("topic") == "here"


def test_a_redis_host_stands_in_for_a_url_and_a_url_wins():
    assert config().redis_url == ""
    assert config(REDIS_PORT=6380).redis_url == ""
    assert config(REDIS_HOST="cache", REDIS_PORT=6380).redis_url == "redis://cache:6380/0"
    assert config(REDIS_HOST="cache", REDIS_URL="unix:///r.sock").redis_url == "unix:///r.sock"


def test_the_frontiers_rules_carry_the_policy_and_the_bounds():
    got = config(FRONTIER_POLICY="quality", FRONTIER_MAX_PAGES_PER_SERVER=5, FRONTIER_MAX_PENDING_PER_SERVER=0)
    rules = got.rules(max_depth=4)
    assert (rules.policy, rules.max_pages, rules.max_pending, rules.max_depth) == (Policy.QUALITY, 5, 0, 4)


def test_only_a_crawl_with_a_topic_explores():
    assert config(TOPIC="bees").rules(max_depth=0).explore == 1
    assert config(TOPIC="bees", FRONTIER_EXPLORE="0.25").rules(max_depth=0).explore == 0.25
    assert config().rules(max_depth=0).explore == 0


# The README


def test_the_reference_has_a_row_for_every_setting_in_order():
    rows = reference().splitlines()[2:]
    names = [row.split("`")[1] for row in rows]
    assert names == sorted(DECLARED)
    assert {row.count(" | ") for row in rows} == {3}


def test_every_setting_is_documented_in_the_readme():
    assert README.exists(), "README.md is missing"
    _, start, rest = README.read_text("utf-8").partition("<!-- settings -->")
    section, end, _ = rest.partition("<!-- /settings -->")
    assert start, "README.md has no <!-- settings --> mark"
    assert end, "README.md has no <!-- /settings --> mark"
    assert section.strip() == reference(), "the table is not the one that extensions.reference.reference() makes"


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"REDIS_HOST": "r.test"}, "redis://r.test:6379/0"),
        ({"REDIS_HOST": "r.test", "REDIS_PORT": 7000, "REDIS_DB": 3}, "redis://r.test:7000/3"),
        ({"REDIS_PARAMS": {"host": "r.test", "port": 7001, "db": 2}}, "redis://r.test:7001/2"),
        ({"REDIS_PARAMS": {"url": "redis://p.test/1"}}, "redis://p.test/1"),
        ({"REDIS_URL": "redis://u.test", "REDIS_HOST": "r.test"}, "redis://u.test"),
        ({"REDIS_PARAMS": {"password": "x"}}, ""),
    ],
)
def test_every_way_in_which_scrapy_redis_names_a_redis_names_the_same_one_here(settings: dict, url: str) -> None:
    assert Config.from_settings(Settings(settings)).redis_url == url
