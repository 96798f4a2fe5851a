"""Where relevant pages go: `pages.jsonl` and `crawl.sqlite` in the crawl's output folder.

A page is acknowledged in the frontier only after these have stored it, and each keeps what it was given through a kill of the
process. A page that comes twice (the crawl was killed between storing and acknowledging it) is stored once.
"""
