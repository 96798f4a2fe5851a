"""Every setting of this project, declared once: its name, type, default and one sentence.

`Config.from_settings` reads them once into a frozen object; components pass plain values on from there. A value that does not
fit, or an unknown name with one of our prefixes, is a `ConfigurationError` that says what is allowed.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from extensions.certainty import Certainty
from extensions.errors import ConfigurationError
from extensions.frontier.records import Policy, Rules

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

PREFIXES = ("FRONTIER_", "SEEN_", "URL_", "TOPIC_", "CRAWL_", "OUTPUT_")

Parser = Callable[[Any], Any]


def number(*, least: float, most: float = math.inf, whole: bool = False) -> Parser:
    """A parser for numbers from `least` to `most`, whole ones only if `whole`."""
    kind = "a whole number" if whole else "a number"
    low, high = (f"{bound:.0f}" if bound == int(bound) else f"{bound:g}" for bound in (least, min(most, 10**15)))
    span = f"{kind} of {low} or more" if most == math.inf else f"{kind} from {low} to {high}"

    def parse(value: Any) -> float:
        try:
            got = float(value)
        except (TypeError, ValueError):
            raise ValueError(span) from None
        if isinstance(value, bool) or math.isinf(got) or not least <= got <= most or (whole and got != int(got)):
            raise ValueError(span)
        return int(got) if whole else got

    return parse


def optional(parser: Parser) -> Parser:
    """The parser's values, or None (also as an empty string or the word, as the command line gives it)."""

    def parse(value: Any) -> Any:
        if value is None or value in ("", "None"):
            return None
        try:
            return parser(value)
        except ValueError as error:
            raise ValueError(f"{error}, or None") from None

    return parse


def number_or_percentage(value: Any) -> float | Certainty:
    """A number of 0 or more, or a percentage as a `Certainty`."""
    try:
        if isinstance(value, str) and "%" in value:
            return Certainty.parse(value)
        return float(number(least=0)(value))
    except ValueError:
        raise ValueError("a number of 0 or more, a percentage above 0% and below 100%") from None


def choice(*allowed: str) -> Parser:
    """One of a few words."""

    def parse(value: Any) -> str:
        if str(value) not in allowed:
            raise ValueError("one of " + ", ".join(allowed))
        return str(value)

    return parse


def flag(value: Any) -> bool:
    """True or False, in the spellings that Scrapy's `getbool` takes."""
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False, "none": False}
    try:
        return words[str(value).lower()]
    except KeyError:
        raise ValueError("True or False") from None


def words(value: Any) -> tuple[str, ...]:
    """A list of strings, or one string with commas between them."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ValueError("a list of strings, or one string with commas")


def text(value: Any) -> str:
    """Any string; None counts as an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("a string")  # noqa: TRY004 - a parser has one kind of error
    return value.strip()


def crawl_name(value: Any) -> str:
    """A name that is safe in a Redis key and in a folder's name."""
    name = text(value)
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise ValueError("up to 100 letters, digits, dots, hyphens and underscores, a letter or digit first")
    return name


def mapping(value: Any) -> dict[str, Any]:
    """A dictionary, or a JSON object as the command line gives it."""
    if isinstance(value, str):
        import json

        try:
            value = json.loads(value or "{}")
        except json.JSONDecodeError:
            raise ValueError("a dictionary, or a JSON object") from None
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError("a dictionary, or a JSON object")  # noqa: TRY004 - a parser has one kind of error
    return {str(key): value[key] for key in value}


def redis_url_of(values: Mapping[str, Any]) -> str:
    """The URL that scrapy-redis's other ways of naming a Redis come to; empty if none is used."""
    params = values["redis_params"]
    host = values["redis_host"] or params.get("host")
    if params.get("url") or not host:
        return str(params.get("url") or "")
    port = params.get("port", values["redis_port"]) if not values["redis_host"] else values["redis_port"]
    return f"redis://{host}:{port}/{params.get('db', values['redis_db'])}"


def setting(name: str, parser: Parser, default: Any, doc: str) -> Any:
    """Declare one setting as a field of `Config`."""
    return field(default=default, metadata={"name": name, "parser": parser, "doc": doc})


@dataclass(frozen=True, slots=True)
class Config:
    """The project's settings as plain values."""

    # The frontier
    policy: str = setting(
        "FRONTIER_POLICY",
        choice(*(policy.value for policy in Policy)),
        Policy.CAPABILITY.value,
        "Which server comes next: by expected quality per second, by its best URL, by pages per second, or by turn.",
    )
    crawl: str = setting(
        "FRONTIER_CRAWL",
        crawl_name,
        "",
        "Name of the crawl; crawls with different names share nothing. Default: the spider's name, and the campaign's.",
    )
    partitions: int = setting(
        "FRONTIER_PARTITIONS",
        number(least=1, most=4096, whole=True),
        16,
        "Into how many parts servers are divided, for agents and Redis Cluster to share: eight or more for each agent. Fixed once a crawl has begun.",
    )
    lease_seconds: float = setting(
        "FRONTIER_LEASE_SECONDS",
        number(least=2, most=86400),
        15.0,
        "How long an agent that is not heard of keeps its servers from the others; it tells that it lives five times as often.",
    )
    flush_seconds: float = setting(
        "FRONTIER_FLUSH_SECONDS",
        number(least=0.005, most=60),
        0.1,
        "How long found links and finished pages may wait to travel to Redis together.",
    )
    max_pending: int = setting(
        "FRONTIER_MAX_PENDING_PER_SERVER",
        number(least=0, whole=True),
        100_000,
        "URLs that may wait per server; the worst are dropped first. 0: no bound.",
    )
    max_pages: int = setting(
        "FRONTIER_MAX_PAGES_PER_SERVER",
        number(least=0, whole=True),
        0,
        "Pages to fetch per server at most. 0: no bound.",
    )
    max_failures: int = setting(
        "FRONTIER_MAX_FAILURES_PER_SERVER",
        number(least=0, whole=True),
        10,
        "URLs of a server that fail in a row (no connection, no answer in time) before it is given up. 0: never.",
    )
    explore: float = setting(
        "FRONTIER_EXPLORE",
        number(least=0, most=1),
        1.0,
        "Where more connections are free than servers are ready: share of the visits that go to pages likely to lead to new servers. Only with a TOPIC.",
    )
    agent: str = setting(
        "FRONTIER_AGENT",
        crawl_name,
        "",
        "Name of this process among those of the crawl. Default: made from the machine and the first free number on it.",
    )
    embedded_dir: str = setting(
        "FRONTIER_EMBEDDED_DIR",
        text,
        ".scrapy/redis",
        "Folder of the private Redis that serves where REDIS_URL is not set.",
    )
    # Politeness
    crawl_delay: float = setting(
        "CRAWL_DELAY",
        number(least=0, most=86400),
        1.0,
        "Seconds between two requests to one server at the least; DOWNLOAD_DELAY, if greater, counts instead.",
    )
    crawl_delay_max: float = setting(
        "CRAWL_DELAY_MAX",
        number(least=0, most=86400),
        60.0,
        "Bound in seconds on what robots.txt and a slow response may ask for.",
    )
    crawl_delay_factor: float = setting(
        "CRAWL_DELAY_FACTOR",
        number(least=0, most=1000),
        10.0,
        "Mercator's politeness: wait this many times as long as the last response took. 0: do not.",
    )
    contact: str = setting(
        "CRAWL_CONTACT",
        text,
        "",
        "Mail address or page of whoever runs the crawl, told to every server in the user agent.",
    )
    max_pages_fetched: int = setting(
        "CRAWL_MAX_PAGES",
        number(least=0, whole=True),
        0,
        "Pages after which the crawl ends, robots.txt and redirects not counted. 0: no limit.",
    )
    max_relevant: int = setting(
        "CRAWL_MAX_RELEVANT",
        number(least=0, whole=True),
        0,
        "Relevant pages after which the crawl ends. 0: no limit.",
    )
    campaign: str = setting("CAMPAIGN", text, "", "Settings module of the campaign, by its name in settings/campaigns.")
    # Seen test
    seen_cache: str = setting(
        "SEEN_CACHE_POLICY",
        choice("clock", "random", "lru", "static"),
        "clock",
        "What the cache in front of the seen-set evicts.",
    )
    seen_cache_size: int = setting(
        "SEEN_CACHE_SIZE",
        number(least=1, most=100_000_000, whole=True),
        50_000,
        "URLs in the cache in front of the seen-set.",
    )
    seen_cache_file: str = setting(
        "SEEN_CACHE_FILE",
        text,
        "",
        "For the static policy: a file of the URLs to hold, one a line, the most popular first.",
    )
    expected_urls: int = setting(
        "SEEN_EXPECTED_URLS",
        number(least=1, most=100_000_000_000, whole=True),
        1_000_000,
        "URLs the crawl is expected to discover; sizes the seen-set. Fixed once a crawl has begun.",
    )
    drop_parameters: tuple[str, ...] = setting(
        "URL_DROP_PARAMETERS",
        words,
        (
            "utm_*", "gclid", "fbclid", "msclkid", "yclid", "dclid", "mc_cid", "mc_eid", "igshid", "_ga", "_gl", "spm",
            "phpsessid", "jsessionid", "aspsessionid*", "sessionid", "session_id", "sid", "cfid", "cftoken",
        ),
        "Query parameters that name a visit and not a page (case ignored, * at the end): dropped from every URL.",
    )  # fmt: skip
    # Topic
    topic: str = setting("TOPIC", text, "", "The topic: words and phrases with commas between them, or @file.")
    seeds: tuple[str, ...] = setting("TOPIC_SEEDS", words, (), "URLs to begin at, or @file with one URL a line.")
    model: str = setting(
        "TOPIC_MODEL",
        choice("context", "bm25", "vector", "boolean", "examples"),
        "context",
        "How relevance is measured: a probability from the topic's words and the place where a page stands, or from the words alone, A = 4·B + C by vectors, the number of words present, or learned from TOPIC_EXAMPLES.",
    )
    examples: str = setting(
        "TOPIC_EXAMPLES",
        text,
        "",
        "For the models examples and context: a file with a page (its file or URL) a line, + before a relevant one, - before any other.",
    )
    threshold: float | Certainty | None = setting(  # noqa: RUF009 - as the others; a Certainty is as immutable as a float
        "TOPIC_THRESHOLD",
        optional(number_or_percentage),
        None,
        "Relevance above which a page is on topic, in the model's own scale; or, as a percentage such as 60%, how sure to be of it, the same for every model. Default: the model's own.",
    )
    learn_links: bool = setting(
        "TOPIC_LEARN_LINKS",
        flag,
        True,
        "Learn during the crawl which servers and folders hold relevant pages, and rank links by it.",
    )
    tunnel: int = setting(
        "TOPIC_TUNNEL",
        number(least=0, most=15, whole=True),
        6,
        "How many off-topic pages in a row may lie between two relevant ones.",
    )
    # Output
    output_dir: str = setting(
        "OUTPUT_DIR",
        text,
        "",
        "Folder for the results. Default: output/<crawl>.",
    )
    progress_seconds: float = setting(
        "OUTPUT_PROGRESS_SECONDS",
        number(least=0, most=86400),
        10.0,
        "Seconds between two lines of progress in the log where there is no terminal. 0: none.",
    )
    # scrapy-redis settings that keep their meaning
    redis_url: str = setting("REDIS_URL", text, "", "Redis to use; without it a private one starts.")
    redis_host: str = setting("REDIS_HOST", text, "", "Host of the Redis to use, instead of a URL.")
    redis_port: int = setting(
        "REDIS_PORT", number(least=1, most=65535, whole=True), 6379, "Port that goes with REDIS_HOST."
    )
    redis_db: int = setting(
        "REDIS_DB", number(least=0, whole=True), 0, "Number of the database that goes with REDIS_HOST."
    )
    redis_params: Mapping[str, Any] = setting(
        "REDIS_PARAMS", mapping, None, "More arguments for the Redis connection, such as a password or time-outs."
    )
    persist: bool = setting(
        "SCHEDULER_PERSIST", flag, True, "Keep the frontier when the crawl ends, so that the next start resumes."
    )
    flush_on_start: bool = setting(
        "SCHEDULER_FLUSH_ON_START", flag, False, "Forget the crawl's earlier state at the start."
    )
    idle_before_close: float = setting(
        "SCHEDULER_IDLE_BEFORE_CLOSE",
        number(least=0),
        0.0,
        "Seconds to wait for more work, such as pushed seeds, before an empty crawl ends.",
    )
    start_urls_key: str = setting(
        "REDIS_START_URLS_KEY",
        text,
        "%(name)s:start_urls",
        "Redis list of pushed seeds; %(name)s is the spider's name.",
    )
    start_urls_as_set: bool = setting("REDIS_START_URLS_AS_SET", flag, False, "The pushed seeds are a Redis set.")
    start_urls_as_zset: bool = setting(
        "REDIS_START_URLS_AS_ZSET", flag, False, "The pushed seeds are a Redis sorted set."
    )

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Config:
        """Read and check them all.

        Raises `ConfigurationError` for a value that does not fit, and for a name that looks like ours and is not.
        """
        declared = {item.metadata["name"]: item for item in fields(cls)}
        for name in settings:
            if str(name).startswith(PREFIXES) and name not in declared:
                near = difflib.get_close_matches(str(name), declared, n=1)
                hint = f"; did you mean {near[0]}?" if near else "; the README lists the settings"
                raise ConfigurationError(f"There is no setting {name}{hint}")
        values = {}
        for name, item in declared.items():
            raw = settings.get(name, item.default)
            try:
                values[item.name] = item.metadata["parser"](raw)
            except ValueError as error:
                raise ConfigurationError(f"{name} is {raw!r}, but must be {error}.") from None
        try:
            values["crawl_delay"] = max(values["crawl_delay"], settings.getfloat("DOWNLOAD_DELAY"))
        except (TypeError, ValueError):
            raise ConfigurationError(
                f"DOWNLOAD_DELAY is {settings['DOWNLOAD_DELAY']!r}, but must be a number."
            ) from None
        if not values["redis_url"]:
            values["redis_url"] = redis_url_of(values)
        return cls(**values)

    def crawl_of(self, spider_name: str) -> str:
        """The crawl's name: as set, or made from the spider and the campaign."""
        return self.crawl or "-".join(
            re.sub(r"[^A-Za-z0-9._]+", "-", part) for part in (spider_name, self.campaign) if part
        )

    def output_of(self, spider_name: str) -> str:
        """The folder for the results: as set, or output/<crawl>."""
        return self.output_dir or f"output/{self.crawl_of(spider_name)}"

    def rules(self, max_depth: int) -> Rules:
        """What the frontier needs to know; `max_depth` is Scrapy's DEPTH_LIMIT."""
        return Rules(
            policy=Policy(self.policy),
            max_pending=self.max_pending,
            max_pages=self.max_pages,
            max_depth=max_depth,
            max_failures=self.max_failures,
            delay_ms=self.crawl_delay * 1000,
            # Without a topic nobody knows which servers are rich, and every page is as good as any other.
            explore=self.explore if self.topic else 0.0,
        )
