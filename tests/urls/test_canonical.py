from __future__ import annotations

import string
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from w3lib.url import canonicalize_url, safe_url_string

from extensions.errors import ConfigurationError
from extensions.urls import Canonicaliser

DROPPED = ["utm_*", "gclid", "PHPSESSID", "jsessionid", "sid"]
canonicalise = Canonicaliser(DROPPED)
keeping_all = Canonicaliser([])

hosts = st.sampled_from(
    ["example.org", "WWW.Example.ORG", "a-b.example.co.uk", "localhost", "192.0.2.7", "[2001:DB8::0:1]"]
)
ports = st.sampled_from(["", ":8080", ":65535"])
awkward = string.ascii_letters + string.digits + "-._~!$&'()*+,=:@/|[]^`{}\" é你"
escaped = st.integers(0, 255).map("%{:02x}".format) | st.integers(0, 255).map("%{:02X}".format)
paths = st.lists(
    st.sampled_from(list(awkward)) | st.sampled_from(["/", "/./", "/../", "."]) | escaped, max_size=12
).map("".join)
words = st.lists(st.sampled_from(list(awkward.replace("=", "").replace("&", "") + ";?")) | escaped, max_size=5).map(
    "".join
)
queries = st.lists(st.tuples(words, words).map("=".join), max_size=4).map("&".join)
urls = st.builds(
    "{}://{}{}/{}{}{}".format,
    st.sampled_from(["http", "https", "HTTPS"]),
    hosts,
    ports,
    paths,
    queries.map(lambda query: query and "?" + query),
    st.sampled_from(["", "#", "#top", "#?a=b", "#é"]),
)
anything = st.text(max_size=60) | st.text(max_size=40).map("http://".__add__) | urls | st.builds("http://{}/{}".format, st.text(max_size=20), st.text(max_size=20))  # fmt: skip


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://EXAMPLE.org/Path", "http://example.org/Path"),
        ("http://example.org", "http://example.org/"),
        ("http://example.org?a=1", "http://example.org/?a=1"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443", "https://example.org/"),
        ("https://example.org:0443", "https://example.org/"),
        ("https://example.org:80/", "https://example.org:80/"),
        ("http://example.org:/", "http://example.org/"),
        ("http://example.org./", "http://example.org/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/"),
        ("http://xn--a/", "http://xn--a/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://i❤.ws/", "http://xn--i-7iq.ws/"),
        ("http://新华网。cn/", "http://xn--xkrr14bows.cn/"),
        ("http://user:secret@example.org/", "http://example.org/"),
        ("http://user@evil@example.org/", "http://example.org/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0:0:1:0:0:1]/", "http://[2001:db8::1:0:0:1]/"),
        ("http://[10:0:5:0:0:7:8:9]/", "http://[10:0:5::7:8:9]/"),
        ("http://[::ffff:192.0.2.1]:80/", "http://[::ffff:c000:201]/"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/a/%2e%2E/c/.", "http://example.org/c/"),
        ("http://example.org/../..", "http://example.org/"),
        ("http://example.org/.well-known/x", "http://example.org/.well-known/x"),
        ("http://example.org//a//b", "http://example.org//a//b"),
        ("http://example.org\\a\\b", "http://example.org/a/b"),
        ("http://example.org/%7euser/%c3%a9/é", "http://example.org/~user/%C3%A9/%C3%A9"),
        ("http://example.org/Rust_%28language%29", "http://example.org/Rust_(language)"),
        ("http://example.org/a%2fb%3bc%3fd%25e", "http://example.org/a%2Fb%3Bc%3Fd%25e"),
        ("http://example.org/100%", "http://example.org/100%25"),
        ("http://example.org/%%34%31", "http://example.org/%2541"),
        ("http://example.org/%e9", "http://example.org/%E9"),
        ("http://example.org/a b", "http://example.org/a%20b"),
        ("  http://exam\tple.org/a\nb\r\n", "http://example.org/ab"),
        ("http://example.org/?", "http://example.org/"),
        ("http://example.org/?b=2&a=2&a=1", "http://example.org/?a=1&a=2&b=2"),
        ("http://example.org/?b=&a", "http://example.org/?a&b="),
        ("http://example.org/?&&a=1&", "http://example.org/?a=1"),
        ("http://example.org/?q=a%20b+c", "http://example.org/?q=a+b+c"),
        ("http://example.org/?q=1%2B1%26%23", "http://example.org/?q=1%2B1%26%23"),
        ("http://example.org/?b=2&%61=%31", "http://example.org/?a=1&b=2"),
        ("http://example.org/?next=%2Fhome", "http://example.org/?next=/home"),
        ("http://example.org/wiki.cgi?FrontPage", "http://example.org/wiki.cgi?FrontPage"),
        ("http://example.org/git?p=a.git;a=log", "http://example.org/git?p=a.git;a=log"),
        ("http://example.org/?UTM_Source=x&a=1&gclid=2&phpsessid=3", "http://example.org/?a=1"),
        ("http://example.org/?utm_source=x", "http://example.org/"),
        ("http://example.org/?%75tm_source=x", "http://example.org/"),
        ("http://example.org/?side=1&gclids=2", "http://example.org/?gclids=2&side=1"),
        ("http://example.org/a;jsessionid=0A!1/b;JSESSIONID=2?c=3", "http://example.org/a/b?c=3"),
        ("http://example.org/a;v=1;jsessionid=2;w", "http://example.org/a;v=1;w"),
        ("http://example.org/a#b?c#d", "http://example.org/a"),
        ("http:example.org", "http://example.org/"),
        ("http:///example.org", "http://example.org/"),
    ],
)  # fmt: skip
def test_urls_that_mean_the_same_page_get_one_spelling(url: str, expected: str) -> None:
    assert canonicalise(url) == expected
    assert canonicalise(expected) == expected


@pytest.mark.parametrize(
    "url",
    [
        "", "/", "//", "//example.org/", "a/b", "http", "http:", "http://", "http:///", "https://?a", "http://#", "ftp://example.org/",
        "javascript:alert(1)", "mailto:a@example.org", "data:text/html,x", "http://[::1", "http://[::1]x/", "http://::1/", "http://[1::2::3]/",
        "http://[fe80::1%25eth0]/", "http://example.org:0/", "http://example.org:65536/", "http://example.org:8a/", "http://a..b/",
        "http://.example.org/", "http://" + "a" * 64 + ".org/", "http://" + "a." * 127 + "org/", "http://exa mple.org/", "http://a{b}.org/",
        "http://a%00b.org/", "http://xn--zz%20.org/", "http://xn--a.ß/", "http://1.2.3.256/", "http://1.2.3.4.5/", "http://09.1/", "http://a.1/",
        "http://\ud800/", "http://" + "9" * 5000 + "/", "http://localhost,就会看到/",
    ],
)  # fmt: skip
def test_what_cannot_be_crawled_has_no_canonical_url(url: str) -> None:
    assert canonicalise(url) is None


@given(anything)
@example("http://a/;sid=1/;;sid=2")
@example("http://a/..;sid=1")
@example("http://a/?%2")
@example("http://a/%\ud800")
@settings(max_examples=600)
def test_canonical_urls_stay_as_they_are(url: str) -> None:
    canonical = canonicalise(url)
    if canonical is not None:
        assert canonicalise(canonical) == canonical


@given(anything)
@settings(max_examples=400)
def test_scrapy_requests_a_canonical_url_as_it_is(url: str) -> None:
    canonical = canonicalise(url)
    if canonical is not None:
        assert canonical.isascii()
        assert safe_url_string(canonical) == canonical


@given(urls)
@settings(max_examples=500)
def test_w3lib_takes_a_url_and_its_canonical_spelling_for_the_same(url: str) -> None:
    canonical = keeping_all(url)
    assert canonical is not None
    assert canonicalize_url(canonical) == canonicalize_url(url)


@given(urls)
@settings(max_examples=500)
def test_what_w3lib_takes_for_the_same_is_the_same_here(url: str) -> None:
    assert keeping_all(canonicalize_url(url)) == keeping_all(url)


@given(
    st.builds(
        "https://example.org/{}?{}".format,
        st.text(string.ascii_letters + string.digits + "-._~!$'()*,:@/", max_size=20),
        st.lists(
            st.tuples(*[st.text(string.ascii_letters + string.digits + "-._~+", min_size=1, max_size=4)] * 2).map(
                "=".join
            ),
            min_size=1,
            max_size=5,
        ).map("&".join),
    )
)
@settings(max_examples=300)
def test_plain_urls_are_spelled_as_w3lib_spells_them(url: str) -> None:
    assert keeping_all(url) == canonicalize_url(url)


@pytest.mark.parametrize("name", ["", " ", "a*b", "**", "a=b", "a&b", "a b"])
def test_a_parameter_name_that_can_never_match_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="URL_DROP_PARAMETERS"):
        Canonicaliser(["sid", name])


def test_hostile_urls_take_linear_time() -> None:
    hostile = [
        "http://example.org" + "/a" * 50_000 + "\x01",
        "http://example.org/" + "../" * 50_000,
        "http://example.org/" + "%" * 50_000,
        "http://example.org/" + ";" * 50_000,
        "http://example.org/?" + "&" * 50_000,
        "http://" + "a." * 50_000,
        "http://" + "@" * 50_000,
        "http://" + "1" * 50_000,
        "http://" + "é" * 50_000,
        "http:" + "/" * 50_000,
    ]
    start = time.perf_counter()
    for url in hostile:
        canonicalise(url)
    assert time.perf_counter() - start < 1.5
