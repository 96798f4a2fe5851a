"""A fetched page as plain data: one parse gives title, main text, language, links and what the page asks of robots.

- `decode`: bytes to text, also where the declared charset is wrong; `plausible` tells a right decoding from a wrong one;
- `parse`: one walk over lexbor's tree; `taming` keeps it from pages that are built to hang a parser;
- `links`: references to absolute URLs;
- `language`: the language of the text.

All functions are pure, and none raises for any bytes. BeautifulSoup, slower and more forgiving, is the oracle of the tests.
"""

from extensions.pages.decode import decode
from extensions.pages.links import Link
from extensions.pages.parse import Page, parse_page, parse_text

__all__ = ["Link", "Page", "decode", "parse_page", "parse_text"]
