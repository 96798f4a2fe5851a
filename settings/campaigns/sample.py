"""What ``make crawl`` runs: the sample web on this machine, made from the documentation of the installed Python.

It is the one campaign that hurries: the servers are our own.
"""

TOPIC = "asynchronous, networking, asyncio, http"
TOPIC_SEEDS = ["http://www.python.test/"]
CRAWL_MAX_PAGES = 300
CRAWL_DELAY = 0.0
CRAWL_DELAY_FACTOR = 0.0
CONCURRENT_REQUESTS = 16
FRONTIER_FLUSH_SECONDS = 0.05
TOPIC_TUNNEL = 4
STATS_DUMP = False  # the summary says it in ten lines
