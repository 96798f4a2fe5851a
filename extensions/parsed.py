"""Each response is parsed once, whoever asks: the spider, the relevance middleware, a pipeline."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.http import HtmlResponse, TextResponse, XmlResponse

from extensions.pages import Page, parse_page, parse_text

if TYPE_CHECKING:
    from scrapy.http import Response

BIG_BYTES = 500_000
"""Pages from this size on take longer to parse than the event loop should stand still."""

_pages: WeakKeyDictionary[Response, Page] = WeakKeyDictionary()


def page_of(response: Response) -> Page | None:
    """The parsed page, or None for what is neither HTML nor plain text."""
    page = _pages.get(response)
    if page is None and isinstance(response, TextResponse) and response.body:
        html = isinstance(response, (HtmlResponse, XmlResponse))
        parse = parse_page if html else parse_text
        page = _pages[response] = parse(response.body, url=response.url, declared=declared_charset(response))
    return page


async def parse_aside(response: Response) -> None:
    """Before `page_of`: a big page is parsed in a thread, so that the event loop gets its turns meanwhile."""
    if len(response.body) >= BIG_BYTES and response not in _pages:
        await asyncio.to_thread(page_of, response)


def declared_charset(response: Response) -> str | None:
    """The charset of the Content-Type header, right or wrong."""
    header = (response.headers.get("Content-Type") or b"").decode("latin-1")
    _, _, charset = header.lower().partition("charset=")
    return charset.split(";")[0].strip(" \"'") or None


class FollowLinks:
    """Yielded by a spider in place of one request per link: follow the page's links as far as the topic leads.

    The relevance middleware takes it up. It costs no `Request` for a link that is known already.
    """

    __slots__ = ("page",)

    def __init__(self, page: Page) -> None:
        self.page = page
