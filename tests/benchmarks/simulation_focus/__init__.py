"""Crawls of a stored web in virtual time: every policy meets the same pages, the same latencies, and labels that no policy sees.

- `web`: which pages there are, and which page a link leads to;
- `facts`: what the product's own parser says of each page, kept on disk, so that a page is parsed once and not once per run;
- `task`: a topic, its labels and seeds; what is reachable, and how the product's relevance model judges a page;
- `servers`: how long connections and responses take, decided by names and a seed;
- `queues`: one queue per server and a rank for each server, as the frontier has them, without Redis;
- `baselines`, `ours`, `clairvoyant`: the policies;
- `crawl`: one crawl, page by page or with many connections at once; `figures`: what is read off it.

Nothing here sleeps, asks a clock or draws a number without a seed: equal arguments give equal figures to the last bit.
"""
