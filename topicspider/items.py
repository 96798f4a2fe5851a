"""What a crawl yields: one item per fetched page, annotated with its relevance before it reaches the pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class PageItem:
    """A fetched page. The spider fills in what the response says, the relevance middleware what the topic says.

    `relevance` is the model's measure (0 to 5 for `vector`); `probability` is what it comes to, how sure the model is that the page is on topic, 0 to 1 on
    one scale for all models; `quality` (0 to 1) is what was predicted of the URL before it was fetched,
    by its link and by its folder, among the URLs of its server.
    """

    url: str
    title: str = ""
    relevance: float = 0.0
    probability: float = 0.0
    title_similarity: float = 0.0
    body_similarity: float = 0.0
    quality: float = 0.0
    depth: int = 0
    host: str = ""
    port: int = 0
    content_type: str = ""
    content_length: int = 0
    downloaded_at: str = ""
    """UTC, ISO 8601, to the millisecond."""
    language: str = ""
    referrer: str = ""
    text: str = ""
    canonical: str = ""
    """The URL the page gives for itself (link rel=canonical), if it does."""

    def as_record(self) -> dict[str, Any]:
        """The page as a flat mapping in the documented order of fields."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
