"""The crawler behind ``scrapy crawl topic``: adapters to Scrapy here, engines in the packages below.

The life of a URL
=================

1. **Found.** A page is parsed once (`pages`): title, text, language, links with their anchor text and the words around them.
   The page's relevance to the topic is measured (`scoring`), by `relevance.TopicRelevanceMiddleware`.
2. **Known?** Each link's raw absolute URL is looked up in the in-process *seen cache* (`seen`). Most links of a page are known
   and end here: no `Request`, no fingerprint, no Redis. The cache remembers the best quality sent for a URL, so a link whose
   evidence is now clearly better goes on, as a *raise*.
3. **Canonical** (`urls`): one spelling for all URLs that mean the same page, split into *server* (scheme, host, port) and
   *path*, and hashed into a fingerprint.
4. **Quality** is predicted: the probability, 0 to 1, that the page behind the link is on topic, by its words (`scoring.links`) and by what the crawl
   has learned of its folders (`scoring.linkmodel`, shared by `learning`). What it learns of the server moves all that is queued there (9).
5. **admit**: one atomic script per partition of the frontier (`frontier`) tests the exact *seen-set*, puts the URL into its
   server's *URL queue* and ranks the server in the *server queue*. From here on the URL is **queued**.
6. **lease**: the best servers that are due are handed to an agent, each with its best URLs, until a deadline. The URL is
   **leased**, and no other agent can open a connection to its server.
7. **Download**, one request at a time per server, spaced by its crawl delay (`scheduler.TwoLevelScheduler`, `politeness`), over a connection that
   ends with the lease; whether the lease still holds is asked again when the request could be written (`connections`).
8. **Stored.** Items of pages on topic pass the pipelines (`topicspider.pipelines`); links go back to 2.
9. **settle**: only after the page's links are admitted and its items stored is the URL **done**. What an agent leased and
   never settled is **reclaimed** when the lease expires; an agent that lives **renews** its leases.
   Each settlement also tells what the crawl has learned of the server by then, as one number, its *odds*: the server's rank follows, and the next lease's length.

A URL is queued, leased or done: exactly one of the three, whatever dies.

Between Scrapy, which asks synchronously, and Redis stand three classes: `holdings.Holdings` is what this process has in hand,
`scheduler.TwoLevelScheduler` fills it and hands out from it, `courier.Courier` carries it to Redis and back in batches. Beside them, `upkeep.Upkeep` keeps
this process a member of the crawl's *agents* (`membership`): identical processes that divide servers between them without a coordinator. Who dies, sleeps or is cut off loses
its leases, never a URL; what a Redis forgets is said again (`journal`).

The five verbs are the same words in Python, in Lua, in the statistics and in the documentation. Imports point one way:
``topicspider`` → the adapters in ``extensions/`` → the engines in ``extensions/*/``. The engines know nothing of Scrapy, and
only ``frontier`` knows Redis.
"""
