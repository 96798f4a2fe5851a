"""The URL-seen test: a small cache that answers most questions, and the layout of the exact set that answers the rest.

A link's raw URL meets `filter.SeenFilter` first, which asks one of the `caches`. What passes is made canonical and hashed (`extensions.urls`), and
`layout.SeenLayout` says where its fingerprint lies in the seen-set. That set itself is the frontier's, as the test and the enqueue are
one atomic step there.
"""

from extensions.seen.caches import SeenCache, make_cache
from extensions.seen.filter import SeenFilter
from extensions.seen.layout import SeenLayout

__all__ = ["SeenCache", "SeenFilter", "SeenLayout", "make_cache"]
