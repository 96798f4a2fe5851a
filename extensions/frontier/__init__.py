"""Two-level scheduling that survives whoever dies: which server next, and which of its URLs.

A **partition** holds servers, their URL queues and the seen-set of their URLs. Every verb is atomic on one partition:

========  ============================================================================================================
admit     seen test, bounds, URL queue and server rank for a batch of candidates; one decision for each
lease     the best servers that are due, each with its best URLs, for one agent until a deadline
settle    URLs of a lease are done, measurements enter the averages; with release the server is free again
renew     a lease's deadline moves; a stale token is told so
reclaim   expired leases, or all of one agent's: their URLs are queued again at their old places
========  ============================================================================================================

and beside them `clear`, `stats` and `peek`. A server is in exactly one of four states: *idle* (no URL queued, not leased),
*waiting* (URLs queued, not due), *ready* (URLs queued, due, ranked) and *leased*.

`redis.RedisFrontier` is the frontier that crawls use, in Lua on Redis 6.2 or newer. `oracle.DictFrontier` keeps the same contract on
plain dicts and in plain Python: what the scripts do is tested against it.
"""
