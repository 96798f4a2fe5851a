"""One spelling for all URLs that mean the same page, its server and path, and its fingerprint.

>>> canonical = Canonicaliser(["utm_*"])("HTTPS://Example.org:443/a/../b?z=1&utm_source=mail&a=2#top")
>>> canonical
'https://example.org/b?a=2&z=1'
>>> split_server(canonical)
('https://example.org', '/b?a=2&z=1')

The canonical URL is not only compared but fetched, so a rule may respell a URL only where servers cannot be expected to care. The rules, in order:

===========  ========================================================================================================
whole        blanks and control characters around the URL go, tabs and line ends within it too; ``\\`` counts as ``/``
scheme       ``http`` and ``https`` in lower case; anything else is not crawlable
user info    goes: a crawler visits as a stranger, and a server is known by its scheme, host and port alone
host         `hosts`: lower case, IDN in punycode (UTS #46), IPv4 and IPv6 in their one spelling, no dot at the end
port         goes where it is the scheme's own
path         `paths`: ``/`` for an empty one, session parameters (``;jsessionid=…``) and dot segments removed
query        `queries`: parameters that name a visit removed, the others sorted by name, then value; blank ones kept
escapes      `escapes`: decoded where a letter would do, upper-case hex, everything else in UTF-8
fragment     goes
===========  ========================================================================================================

**Agreement with w3lib.** Two URLs are one here exactly if `w3lib.url.canonicalize_url` makes them one, but for what w3lib does
not look at (default ports, user info, visit parameters, the spellings of a host, ``https:example.org``) and with one exception:
``?a`` and ``?a=`` stay two, as some servers tell them apart. The spelling differs within a query: w3lib, which never
fetches its result, writes ``man.cgi?time(3)`` as ``man.cgi?time%283%29=``, which such a server does not understand.
"""

from extensions.urls.canonical import Canonicaliser
from extensions.urls.fingerprints import fingerprint, partition_of
from extensions.urls.servers import host_port, join_server, split_server

__all__ = ["Canonicaliser", "fingerprint", "host_port", "join_server", "partition_of", "split_server"]
