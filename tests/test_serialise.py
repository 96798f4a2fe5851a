"""Requests as bytes and back, by their public interface, and what a queue that another version of a spider filled does to a crawl."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum

import msgpack
import pytest
import scrapy
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import FormRequest, JsonRequest, Request

from extensions.errors import UnserialisableRequest
from extensions.frontier.records import LeasedUrl
from extensions.serialise import is_plain, payload_of, request_of
from extensions.topicmeta import TopicMeta
from extensions.urls import Canonicaliser
from tests.localweb.web import LocalWeb, write_site
from tests.running import HURRY, crawl, log_of, seen


class Clerk(scrapy.Spider):
    name = "clerk"

    def page(self, response):
        """A callback."""

    def failed(self, failure):
        """An errback."""


SPIDER = Clerk()
SERVER = "http://a.test"


def back(request, *, opaque=False, quality=0.5, depth=3, hops=0, spider=SPIDER):
    """The request after its way through the queue."""
    payload = payload_of(request, SPIDER, opaque=opaque)
    member = "\0some digest" if opaque else request.url.removeprefix(SERVER)
    return request_of(SERVER, LeasedUrl(member, quality=quality, depth=depth, hops=hops, payload=payload), spider)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.binary(max_size=8)
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC) | st.just(timezone(timedelta(hours=5, minutes=45))))
)
hashables = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
keys = st.text(st.characters(codec="utf-8"), max_size=6) | st.integers(-(2**63), 2**63) | st.binary(max_size=4)
values = st.recursive(
    hashables | st.sets(hashables, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(keys, inner, max_size=3)
        | st.tuples(inner)
        | st.tuples(inner, inner)
    ),
    max_leaves=10,
)
restored = {"depth", "topic", "download_slot", "download_latency"}
metas = st.dictionaries(keys.filter(lambda key: key not in restored), values, max_size=4)
names = st.text("abcdefgh_", min_size=1, max_size=5)
header_names = st.text("ABCabc-", min_size=1, max_size=8).map(lambda name: "X-" + name)
header_values = st.lists(st.binary(max_size=6), min_size=1, max_size=2)
paths = st.text("abc/?&=%20", max_size=10).map(lambda path: Canonicaliser([])(SERVER + "/" + path))
"""Of plain requests the queue has the canonical URLs."""


@st.composite
def requests(draw):
    return Request(
        draw(paths),
        method=draw(st.sampled_from(["GET", "POST", "PUT", "HEAD"])),
        body=draw(st.binary(max_size=12)),
        headers=draw(st.dictionaries(header_names, header_values, max_size=3)),
        cookies=draw(
            st.dictionaries(names, names, max_size=2)
            | st.lists(st.fixed_dictionaries({"name": names, "value": names, "path": st.just("/")}), max_size=2)
        ),
        meta=draw(metas),
        cb_kwargs=draw(st.dictionaries(names, values, max_size=3)),
        flags=draw(st.lists(names, max_size=2)),
        priority=draw(st.integers(-1000, 1000)),
        dont_filter=draw(st.booleans()),
        encoding=draw(st.sampled_from(["utf-8", "latin-1", "gb18030"])),
        callback=draw(st.sampled_from([None, SPIDER.page])),
        errback=draw(st.sampled_from([None, SPIDER.failed])),
    )


def types_of(value):
    """The same structure with the type at every place: 1 and True, a list and a tuple, are equal or alike without it."""
    if isinstance(value, dict):
        return {(type(key), key): types_of(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [types_of(inner) for inner in value]
    return type(value)


@given(requests(), st.booleans())
def test_a_request_comes_back_as_it_was(request, opaque):
    request = request.replace(dont_filter=request.dont_filter and opaque)  # what is not filtered is always kept whole
    if is_plain(request):
        request = request.replace(encoding="utf-8")  # which has done its work on the URL, see below
    got = back(request, opaque=opaque, depth=7, quality=0.25)
    wanted, found = request.to_dict(spider=SPIDER), got.to_dict(spider=SPIDER)
    meta = found.pop("meta")
    assert {name: meta.pop(name) for name in ("depth", "download_slot")} == {"depth": 7, "download_slot": SERVER}
    assert TopicMeta.of(got) == TopicMeta(0.25, 0, "")
    meta.pop("topic")
    expected = wanted.pop("meta")
    assert meta == expected
    assert types_of(meta) == types_of(expected)
    assert types_of(found["cb_kwargs"]) == types_of(wanted["cb_kwargs"])
    assert found == wanted
    assert got.callback == request.callback
    assert got.errback == request.errback


@given(paths)
def test_a_plain_get_needs_no_bytes(url):
    request = Request(url, meta={"depth": 4, "download_slot": "a", "download_latency": 0.1})
    TopicMeta(0.7, 2).put(request.meta)
    assert payload_of(request, SPIDER, opaque=False) == b""
    got = request_of(SERVER, LeasedUrl(url.removeprefix(SERVER), quality=0.7, depth=4, hops=2), SPIDER)
    assert (got.url, got.method, got.body, got.callback) == (request.url, "GET", b"", None)
    assert got.meta["depth"] == 4
    assert TopicMeta.of(got) == TopicMeta(0.7, 2)


def test_what_a_plain_get_redirects_to_is_made_safe_as_ever():
    got = request_of(SERVER, LeasedUrl("/", quality=0.7, depth=0, hops=0), SPIDER)
    assert got.replace(url=SERVER + "/a b").url == SERVER + "/a%20b"


def test_a_plain_get_found_on_a_page_in_another_encoding_needs_no_bytes_either():
    """`response.follow` gives each link the page's encoding, but its URL is percent-encoded by then."""
    request = Request(SERVER + "/?q=资料", encoding="gb18030")
    assert payload_of(request, SPIDER, opaque=False) == b""
    assert back(request).url == request.url == SERVER + "/?q=%D7%CA%C1%CF"


@pytest.mark.parametrize(
    "more",
    [
        {"method": "POST"},
        {"body": b"x"},
        {"headers": {"X-A": "b"}},
        {"cookies": {"a": "b"}},
        {"meta": {"a": None}},
        {"cb_kwargs": {"a": None}},
        {"flags": [""]},
        {"priority": 1},
        {"callback": SPIDER.page},
        {"errback": SPIDER.failed},
    ],
    ids=lambda more: next(iter(more)),
)
def test_whatever_is_more_than_a_url_is_kept(more):
    request = Request(SERVER + "/a", **more)
    assert payload_of(request, SPIDER, opaque=False)
    (name,) = more
    assert back(request).to_dict(spider=SPIDER)[name] == request.to_dict(spider=SPIDER)[name] or name == "meta"


def test_the_referrer_comes_back_as_a_header_and_is_kept_once():
    request = Request(SERVER + "/a", headers={"Referer": "http://b.test/from"}, method="POST")
    TopicMeta(0.5, 1, "http://b.test/from").put(request.meta)
    payload = payload_of(request, SPIDER, opaque=False)
    assert payload.count(b"http://b.test/from") == 1
    got = back(request)
    assert got.headers["Referer"] == b"http://b.test/from"
    assert TopicMeta.of(got).referrer == "http://b.test/from"


def test_the_class_of_a_request_comes_back():
    form = back(FormRequest(SERVER + "/form", formdata={"a": "ä"}))
    assert type(form) is FormRequest
    assert (form.method, form.body) == ("POST", b"a=%C3%A4")
    jsonic = back(JsonRequest(SERVER + "/json", data={"a": [1]}), opaque=True)
    assert type(jsonic) is JsonRequest
    assert json.loads(jsonic.body) == {"a": [1]}


def test_the_class_of_a_request_comes_back_also_where_nothing_else_is_special():
    assert type(back(Gone(SERVER + "/a"))) is Gone


class Colour(StrEnum):
    RED = "red"


@dataclass
class Thing:
    name: str = "a"


class Article(scrapy.Item):
    title = scrapy.Field()


def test_subclasses_of_text_and_dictionaries_come_back_plain():
    got = back(Request(SERVER + "/a", meta={"colour": Colour.RED, "headers": scrapy.http.Headers({"a": "b"})}))
    assert got.meta["colour"] == "red"
    assert type(got.meta["colour"]) is str


def nested(depth):
    value = "leaf"
    for _ in range(depth):
        value = (value,)
    return value


def circle():
    whole = []
    whole.append(whole)
    return whole


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"meta": {"lock": threading.Lock()}}, r"meta\['lock'\] holds a _thread\.lock"),
        ({"cb_kwargs": {"deep": [{"a": (Thing(),)}]}}, r"cb_kwargs\['deep'\] holds a .*Thing"),
        ({"meta": {"item": Article(title="a")}}, r"meta\['item'\] holds a .*Article"),
        ({"meta": {7: Decimal(1)}}, r"meta\[7\] holds a decimal\.Decimal"),
        ({"meta": {"big": 2**64}}, r"meta\['big'\] holds "),
        ({"meta": {"half": "\ud800"}}, r"meta\['half'\] holds "),
        ({"meta": {"circle": circle()}}, r"meta\['circle'\] holds "),
        ({"meta": {Thing: 1}}, "cannot be queued"),
        ({"flags": [Thing()]}, "flags holds a .*Thing"),
        ({"cookies": [{"name": "a", "value": Thing()}]}, "cookies holds a .*Thing"),
        ({"callback": print}, "cannot be queued"),
        ({"errback": lambda failure: failure}, "cannot be queued"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_kept_is_told_by_request_and_part(more, said):
    with pytest.raises(UnserialisableRequest, match=rf"<GET http://a\.test/odd> .*{said}"):
        payload_of(Request(SERVER + "/odd", **more), SPIDER, opaque=False)


def test_tuples_nested_without_end_are_told_too():
    with pytest.raises(UnserialisableRequest):
        payload_of(Request(SERVER + "/odd", meta={"deep": nested(5000)}), SPIDER, opaque=False)


def test_dates_are_not_taken_for_datetimes():
    got = back(Request(SERVER + "/a", meta={"day": date(2024, 2, 29), "at": datetime(2024, 2, 29, tzinfo=UTC)}))
    assert type(got.meta["day"]) is date
    assert got.meta["at"] == datetime(2024, 2, 29, tzinfo=UTC)


# What comes back when the code has changed meanwhile


class Younger(scrapy.Spider):
    name = "clerk"


def test_a_callback_that_is_gone_is_named():
    payload = payload_of(Request(SERVER + "/a", callback=SPIDER.page), SPIDER, opaque=False)
    with pytest.raises(ValueError, match="Method 'page' not found"):
        request_of(SERVER, LeasedUrl("/a", quality=0, depth=0, hops=0, payload=payload), Younger())


class Gone(scrapy.Request):
    """A kind of request that the next version of the spider no longer has."""


class Before(scrapy.Spider):
    """Queues requests of many kinds and stops after its first page."""

    name = "changing"
    custom_settings = {"CLOSESPIDER_PAGECOUNT": 1}  # noqa: RUF012 - as Scrapy has it

    async def start(self):
        yield scrapy.Request("http://a.test/")

    def parse(self, response):
        yield response.follow("/callback", callback=self.old)
        yield response.follow("/errback", errback=self.old)
        yield Gone("http://a.test/class", meta={"kept": "whole"})
        yield response.follow("/fine")

    def old(self, response):
        """Gone in the next version."""


class After(scrapy.Spider):
    """The next version: without the callback and the kind of request."""

    name = "changing"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        globals().pop("Gone", None)

    def parse(self, response):
        with open("seen.jsonl", "a") as out:  # noqa: PTH123 - a line
            out.write(json.dumps({"url": response.url}) + "\n")


def test_requests_that_the_next_version_cannot_make_are_told_and_the_crawl_goes_on(tmp_path, redis_server):
    write_site(tmp_path / "web", "a.test", dict.fromkeys(("/", "/callback", "/errback", "/class", "/fine"), "page"))
    settings = HURRY | {"REDIS_URL": redis_server.url, "FRONTIER_CRAWL": "changed-spider"}
    with LocalWeb(tmp_path / "web") as web:
        first = crawl("tests.test_serialise.Before", tmp_path, settings | web.settings())
        assert first["finish_reason"] == "closespider_pagecount"
        (tmp_path / "stats.json").unlink()
        second = crawl("tests.test_serialise.After", tmp_path, settings | web.settings())
    assert [entry["url"] for entry in seen(tmp_path)] == ["http://a.test/fine"]
    assert second["finish_reason"] == "finished"
    assert second["frontier/unreadable"] == 3
    assert second["frontier/queued"] == 0
    assert "cannot be made again: Method 'old' not found" in log_of(tmp_path)


@given(st.binary(min_size=1, max_size=40))
def test_bytes_that_are_no_request_raise_an_error_and_nothing_worse(payload):
    with contextlib.suppress(Exception):
        request_of(SERVER, LeasedUrl("/a", quality=0, depth=0, hops=0, payload=payload), SPIDER)


def test_a_type_that_only_a_later_version_knows_is_an_error_with_a_message():
    payload = msgpack.packb({"meta": {"a": msgpack.ExtType(99, msgpack.packb("later"))}})
    with pytest.raises(ValueError, match="99"):
        request_of(SERVER, LeasedUrl("/a", quality=0, depth=0, hops=0, payload=payload), SPIDER)
