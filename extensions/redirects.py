"""Scrapy's two redirect middlewares, for a web whose redirects lead nowhere.

A Location or a meta refresh that is no URL (or a base href that is none) is counted in ``redirect/malformed``, and the response goes on
as it is: with Scrapy's own the page would be lost, with a traceback. Redirects given up after REDIRECT_MAX_TIMES are counted in
``redirect/too_many``; loops end before, as duplicates.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

META_REFRESH_BYTES = 4 * 4096
"""Scrapy looks for the tag in the first 4,096 characters, which take no more than so many bytes in any encoding of the web."""


class ForgivingRedirectMiddleware(RedirectMiddleware):
    """Follows Location headers."""

    def process_response(
        self,
        request: Request,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002 - Scrapy's signature
    ) -> Request | Response:
        """The redirected request, or the response itself. Raises `IgnoreRequest` after too many."""
        return forgiven(self.crawler, super().process_response, request, response)


class ForgivingMetaRefreshMiddleware(MetaRefreshMiddleware):
    """Follows meta refresh tags."""

    def process_response(
        self,
        request: Request,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002 - Scrapy's signature
    ) -> Request | Response:
        """The redirected request, or the response itself. Raises `IgnoreRequest` after too many."""
        # Nearly no page has one, and Scrapy would decode every page to find that out. Zeros are UTF-16's.
        if b"refresh" not in response.body[:META_REFRESH_BYTES].replace(b"\0", b"").lower():
            return response
        return forgiven(self.crawler, super().process_response, request, response)


def forgiven(
    crawler: Crawler,
    redirect: Callable[[Request, Response], Request | Response],
    request: Request,
    response: Response,
) -> Request | Response:
    """What `redirect` makes of the response, or the response where it finds no URL in it."""
    try:
        return redirect(request, response)
    except ValueError as error:
        logger.debug("%s redirects to what is no URL: %s", request, error)
        crawler.stats.inc_value("redirect/malformed")
        return response
    except IgnoreRequest:
        crawler.stats.inc_value("redirect/too_many")
        raise
