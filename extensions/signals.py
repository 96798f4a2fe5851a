"""The project's own signals, sent through `crawler.signals` beside Scrapy's.

All are sent synchronously (`send_catch_log`): a receiver returns at once and never returns a coroutine.
"""

from __future__ import annotations

settling = object()
"""Sent by the scheduler just before it acknowledges pages in Redis, without arguments.

A receiver makes what it has buffered outlive a kill of this process: files flushed to the kernel, transactions committed. One that
cannot raises `extensions.errors.OutputError`; nothing is acknowledged then, and the crawl stops. It is sent after the pipelines have
closed too, so a receiver that is closed and has nothing left returns quietly.
"""

page_scored = object()
"""Sent by the relevance middleware once per page whose relevance was measured.

Arguments: `response`; `item`, the page's annotated `PageItem`; `on_topic`, whether its relevance is above the threshold
(such a page is stored unless it says noindex).
"""

fetch_failed = object()
"""Sent by the downloader middleware for each attempt that ended without a response.

Arguments: `request`; `reason`, the name of the exception (``TimeoutError``, ``DNSLookupError``, …; ``IgnoreRequest`` for a request that
was not allowed to be sent).
"""
