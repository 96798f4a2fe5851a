"""What ``make crawl`` runs: the sample web on this machine, made from the documentation of the installed Python.

It is the one campaign that hurries: the servers are our own.
"""

TOPIC = "asyncio:2, asynchronous networking, event loop, coroutine, socket, transport protocol, stream reader"
TOPIC_SEEDS = ["http://www.python.test/"]
CLOSESPIDER_PAGECOUNT = 300
CRAWL_DELAY = 0.0
CRAWL_DELAY_FACTOR = 0.0
CONCURRENT_REQUESTS = 16
FRONTIER_FLUSH_SECONDS = 0.05
TOPIC_TUNNEL = 4
