"""A web of many hosts on loopback, and a sample of real pages to put into it.

`server` serves any number of host names from folders, with faults on demand; `resolver` leads a crawl to it, so that URLs keep
their true names; `web.LocalWeb` starts both from a test or benchmark. `sample` builds a web of several hundred pages from the
documentation installed with this Python. ``python -m tests.localweb`` does the same from a terminal.
"""
