"""Copy this to settings/campaigns/<your name>.py, edit it, and run: scrapy crawl topic -s CAMPAIGN=<your name>

Only capital names count. Everything may be left out but the topic and the seeds, and those may come from the command line instead.
"""

# Words and phrases with commas between them; a weight after a colon; or "@file" for a list or a text to take the terms from.
TOPIC = "urban gardening:2, balcony vegetables, raised bed, compost"

# Pages to begin at: the better they fit, the sooner the crawl finds its feet.
TOPIC_SEEDS = ["https://example.org/gardening/"]

# Who you are, for those whose servers you visit: a mail address, or a page about the crawl.
CRAWL_CONTACT = "you@example.org"

# When to stop. Whatever comes first; without any, the crawl ends when nothing promising is left.
CRAWL_MAX_PAGES = 10_000  # pages fetched
# CRAWL_MAX_RELEVANT = 1_000    # pages on topic
# CLOSESPIDER_TIMEOUT = 3600    # seconds
# DEPTH_LIMIT = 10              # links from a seed

# How far to go through pages that are off topic.
# TOPIC_TUNNEL = 6

# Bounds per server, against traps and against one server filling the crawl.
# FRONTIER_MAX_PAGES_PER_SERVER = 2_000

# Where the results go. Default: output/topic-<your name>
# OUTPUT_DIR = "output/gardening"
