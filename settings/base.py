"""Every setting of the project, with its reason. A campaign (settings/campaigns/) or ``-s NAME=value`` changes what it needs.

The README has the reference of all settings that are this project's own; those not set here have the default given there.
"""

BOT_NAME = "topicspider"
SPIDER_MODULES = ["topicspider.spiders"]
NEWSPIDER_MODULE = "topicspider.spiders"
COMMANDS_MODULE = "topicspider.commands"

# --- The three parts that make this a focused crawler ---------------------------------------------------------------

SCHEDULER = "extensions.scheduler.TwoLevelScheduler"
DUPEFILTER_CLASS = "extensions.dupefilter.CachedDupeFilter"
REQUEST_FINGERPRINTER_CLASS = "extensions.fingerprint.CanonicalFingerprinter"
SPIDER_MIDDLEWARES = {
    # Next to the spider: it takes up what stands for a page's links before anybody else sees it.
    "extensions.relevance.TopicRelevanceMiddleware": 950,
}
DOWNLOADER_MIDDLEWARES = {
    # Scrapy's robots.txt middleware, with the crawl delay kept between robots.txt and the first page.
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "extensions.politeness.PoliteRobotsMiddleware": 100,
    # Scrapy's redirects, without a page lost to a redirect that leads nowhere.
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "extensions.redirects.ForgivingMetaRefreshMiddleware": 580,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "extensions.redirects.ForgivingRedirectMiddleware": 600,
    # Next to the downloader, to see every attempt that failed, also those that are tried again.
    "extensions.failures.FetchFailureMiddleware": 995,
}
# Scrapy's HTTP/1.1, but nothing is sent to a server whose lease is over, and a connection ends with the lease.
DOWNLOAD_HANDLERS = {
    "http": "extensions.connections.ConnectionHandler",
    "https": "extensions.connections.ConnectionHandler",
}

# --- What comes out ---------------------------------------------------------------------------------------------------

ITEM_PIPELINES = {
    "topicspider.pipelines.pages.PagesPipeline": 800,
    "topicspider.pipelines.database.DatabasePipeline": 810,
}
EXTENSIONS = {
    "extensions.shutdown.QuickCloseExtension": 0,
    "topicspider.summary.SummaryExtension": 900,
    "topicspider.panel.PanelExtension": 910,
    # One line for a dead server, not a traceback for each of its URLs.
    "topicspider.quietlog.QuietLogExtension": 0,
    "topicspider.collecting.CollectingExtension": 0,
}
# Scrapy's own, without LogStats (the panel and its progress lines say more), and without TelnetConsole and RemoteControl: open ports that anybody on the
# machine could control the crawl through. Left out rather than set to None, because Scrapy would still import them, which takes a tenth of the start-up.
EXTENSIONS_BASE = {
    "scrapy.extensions.corestats.CoreStats": 0,
    "scrapy.extensions.logcount.LogCount": 0,
    "scrapy.extensions.memusage.MemoryUsage": 0,
    "scrapy.extensions.memdebug.MemoryDebugger": 0,
    "scrapy.extensions.closespider.CloseSpider": 0,
    "scrapy.extensions.feedexport.FeedExporter": 0,
    "scrapy.extensions.spiderstate.SpiderState": 0,
    "scrapy.extensions.throttle.AutoThrottle": 0,
}
TELNETCONSOLE_ENABLED = False
# Scrapy begins so many tasks for each response, however little it yields; a page here yields two things, its item and its links.
CONCURRENT_ITEMS = 4

# --- Politeness: for the open web. A campaign on one's own servers may hurry. -------------------------------------------

USER_AGENT = "topicspider/0.1 (focused crawler; no contact given)"  # CRAWL_CONTACT puts the operator's contact in
ROBOTSTXT_OBEY = True
CRAWL_DELAY = 1.0
CRAWL_DELAY_FACTOR = 10.0
CRAWL_DELAY_MAX = 60.0
# The scheduler spaces requests; the downloader must not do it once more, nor let two at one server.
DOWNLOAD_DELAY = 0
DOWNLOAD_DELAY_JITTER = 0
CONCURRENT_REQUESTS_PER_DOMAIN = 1
AUTOTHROTTLE_ENABLED = False

# --- Speed -------------------------------------------------------------------------------------------------------------

# Servers open at once. The paper behind the server queue used 64 and saw no gain beyond 96.
CONCURRENT_REQUESTS = 64
# Names are looked up in threads; a focused crawl meets a new server every few pages.
REACTOR_THREADPOOL_MAXSIZE = 20

# --- Nothing waits without a bound --------------------------------------------------------------------------------------

DOWNLOAD_TIMEOUT = 30
DNS_TIMEOUT = 10
RETRY_TIMES = 2
REDIRECT_MAX_TIMES = 10
# Each attempt is counted, and the failure is told once already.
RETRY_GIVE_UP_LOG_LEVEL = "INFO"
# Decompressed too, so a small file cannot fill the memory. Scrapy's own default is 1 GiB.
DOWNLOAD_MAXSIZE = 16 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
URLLENGTH_LIMIT = 2083

# --- Manners of the log --------------------------------------------------------------------------------------------------

LOG_LEVEL = "INFO"
LOG_FORMATTER = "topicspider.quietlog.QuietLogFormatter"
COOKIES_ENABLED = False  # a crawler visits as a stranger; sessions would also make pages depend on the order of visits
FEED_EXPORT_ENCODING = "utf-8"
