"""Which pages are looked at for a meta refresh, and what becomes of them; redirects that lead nowhere are in test_hostile_web."""

from __future__ import annotations

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from extensions.redirects import ForgivingMetaRefreshMiddleware

TAG = '<meta http-equiv="REFRESH" content="0; url=/there">'


@pytest.fixture
def follow():
    """What becomes of a page with that body."""
    crawler = get_crawler(Spider)
    middleware = ForgivingMetaRefreshMiddleware.from_crawler(crawler)

    def followed(body: bytes, encoding: str = "utf-8"):
        request = Request("http://a.test/here")
        response = HtmlResponse(request.url, body=body, encoding=encoding, request=request)
        return middleware.process_response(request, response)

    return followed


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "utf-32", "gb18030", "shift_jis"])
def test_a_refresh_is_followed_whatever_the_encoding_and_however_late_scrapy_looks_for_it(follow, encoding):
    letters = "一" * (4096 - len(TAG))
    # Scrapy appends what UTF-16 begins with.
    assert follow((letters + TAG).encode(encoding), encoding).url.startswith("http://a.test/there")


def test_a_page_without_one_goes_on_as_it_is(follow):
    assert isinstance(follow(b"<html><head><title>Bees</title></head>"), HtmlResponse)
    assert isinstance(follow(b"<p>Refresh the hives"), HtmlResponse)
