from __future__ import annotations

import gc

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from extensions.fingerprint import CanonicalFingerprinter
from extensions.urls import Canonicaliser, fingerprint


@pytest.fixture
def fingerprinter() -> CanonicalFingerprinter:
    return CanonicalFingerprinter(Canonicaliser(["utm_*"]))


def test_a_plain_get_has_the_fingerprint_of_its_canonical_url(fingerprinter: CanonicalFingerprinter) -> None:
    request = Request("HTTPS://Example.org:443/a/../b?z=1&utm_source=mail&a=2#top")
    assert fingerprinter.fingerprint(request) == fingerprint("https://example.org", "/b?a=2&z=1")


def test_method_and_body_make_another_request_of_the_same_server(fingerprinter: CanonicalFingerprinter) -> None:
    url = "https://example.org/search"
    requests = [
        Request(url),
        Request(url, method="HEAD"),
        Request(url, method="POST"),
        Request(url, method="POST", body="q=1"),
        Request(url, method="POST", body="q=2"),
        Request(url, body="q=1"),
        Request(url + "?q=1"),
    ]
    marks = [fingerprinter.fingerprint(request) for request in requests]
    assert len(set(marks)) == len(requests)
    assert {len(mark) for mark in marks} == {16}
    assert len({mark[:8] for mark in marks}) == 1


def test_spelling_does_not_matter_for_other_methods_either(fingerprinter: CanonicalFingerprinter) -> None:
    one, two = (Request(url, method="POST", body="x") for url in ("http://a/b?d=1&c=2", "HTTP://A:80/./b?c=2&d=1#e"))
    assert fingerprinter.fingerprint(one) == fingerprinter.fingerprint(two)


def test_headers_cookies_and_meta_do_not_count(fingerprinter: CanonicalFingerprinter) -> None:
    plain = Request("http://a/")
    dressed = Request("http://a/", headers={"Accept": "text/html"}, cookies={"id": "1"}, meta={"depth": 3}, priority=2)
    assert fingerprinter.fingerprint(plain) == fingerprinter.fingerprint(dressed)


def test_a_verbatim_url_is_taken_at_its_word(fingerprinter: CanonicalFingerprinter) -> None:
    urls = ["http://a/?b&a", "http://a/?a&b"]
    assert len({fingerprinter.fingerprint(Request(url, meta={"verbatim_url": True})) for url in urls}) == 2
    assert len({fingerprinter.fingerprint(Request(url)) for url in urls}) == 1


def test_urls_of_other_schemes_have_a_fingerprint_too(fingerprinter: CanonicalFingerprinter) -> None:
    urls = ["s3://bucket/key", "s3://bucket/other", "data:,text", "file:///etc/hosts", "http://a..b/"]
    assert len({fingerprinter.fingerprint(Request(url)) for url in urls}) == len(urls)


def test_a_request_is_forgotten_with_its_fingerprint(fingerprinter: CanonicalFingerprinter) -> None:
    request = Request("http://a/")
    assert fingerprinter.fingerprint(request) is fingerprinter.fingerprint(request)
    del request
    gc.collect()
    assert len(fingerprinter._known) == 0


def test_a_crawler_gets_it_from_its_settings() -> None:
    crawler = get_crawler(
        settings_dict={
            "REQUEST_FINGERPRINTER_CLASS": "extensions.fingerprint.CanonicalFingerprinter",
            "URL_DROP_PARAMETERS": "visit, from_*",
        }
    )
    made = CanonicalFingerprinter.from_crawler(crawler)
    assert made.fingerprint(Request("http://a/?visit=1&b=2&FROM_mail=3")) == fingerprint("http://a", "/?b=2")
