"""Connections: the fence before each request, what the scheduler is told of them, how long they live. If a new Scrapy or Twisted breaks
these tests, `extensions/connections.py` must follow; its docstring names what it uses without a public door.

One crawl in a process of its own, with Scrapy's scheduler in memory, makes its downloads one by one and keeps a diary, which the tests judge.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
import scrapy
from scrapy import signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler, _LenientHTTP11ClientProtocol
from scrapy.core.scheduler import Scheduler
from scrapy.exceptions import StopDownload
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.tcp import Connection as TCPConnection
from twisted.web.client import HTTPConnectionPool, _RetryingHTTP11ClientProtocol

from extensions import connections as module
from extensions.connections import ConnectionHandler, Connections
from tests.localweb.web import LocalWeb, write_site
from tests.running import HURRY, PROJECT, crawl, seen
from tests.test_scheduler import WALKER, tree

HANDLERS = dict.fromkeys(("http", "https"), "extensions.connections.ConnectionHandler")
RUN = """
import json, sys
from scrapy.crawler import CrawlerProcess
process = CrawlerProcess(json.loads(sys.argv[1]))
from tests.test_connections import Downloader
crawler = process.create_crawler(Downloader)
process.crawl(crawler)
process.start()
assert crawler.spider.finished
"""
KEPT = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkept"
WITHOUT_LENGTH = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end"


class Leases(Scheduler):
    """Scrapy's own, which also answers and listens as a scheduler of leases does."""

    @classmethod
    def from_crawler(cls, crawler):
        scheduler = super().from_crawler(crawler)
        scheduler.lost, scheduler.events = False, []
        scheduler.lose_after_asked = None
        return scheduler

    def may_send(self, request):
        allowed = not self.lost
        if self.lose_after_asked is not None:
            self.lose_after_asked -= 1
            self.lost = self.lose_after_asked <= 0
        self.events.append(["asked", request.url, allowed])
        return allowed

    def connected(self, request, milliseconds):
        self.events.append(["connected", request.url, milliseconds])

    def disconnected(self, request, carried):
        self.events.append(["disconnected", request.url, carried])


class RawServer:
    """Answers each request on a connection with the next of `answers`; without one left it closes the connection. Knows what it got."""

    def __init__(self, *answers):
        self.answers = answers
        self.received = []
        self.ended = asyncio.Event()
        self.writers = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.server = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _serve(self, reader, writer):
        self.writers.append(writer)
        answers = iter(self.answers)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.received.append(head.split(b" ")[0].decode())
                answer = next(answers, None)
                if answer is None:
                    break
                writer.write(answer)
                if b"Content-Length" not in answer:
                    break
        writer.close()
        self.ended.set()


class Relay:
    """Passes bytes on to a port of the local web, when `go` is set; as a proxy does if it is asked to CONNECT first."""

    def __init__(self, port, connect=False):
        self._to, self._connect = port, connect
        self.go, self.arrived, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.connections = 0

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _serve(self, reader, writer):
        self.connections += 1
        if self._connect:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 Go ahead\r\n\r\n")
        self.arrived.set()
        await self.go.wait()
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        other = asyncio.ensure_future(self._pump(there, writer))
        await self._pump(reader, back)
        await other
        self.ended.set()

    @staticmethod
    async def _pump(reader, writer):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
        writer.close()


def note(**scene):
    with Path("diary.jsonl").open("a") as out:
        out.write(json.dumps(scene) + "\n")


class Downloader(scrapy.Spider):
    """Goes through its scenes, the methods called scene_*, and writes what happened in each."""

    name = "downloader"
    finished = False

    async def start(self):
        self.leases = self.crawler.engine.scheduler
        self.connections = Connections.of(self.crawler)
        for name in [name for name in dir(self) if name.startswith("scene_")]:
            self.leases.lost, self.leases.lose_after_asked, self.leases.events = False, None, []
            said = await getattr(self, name)()
            note(scene=name[6:], said=said, events=self.leases.events)
        self.finished = True
        return
        yield

    async def get(self, url, method="GET", **meta):
        """The status, or the error's name."""
        request = scrapy.Request(url, method=method, meta=meta, body=b"x" if method == "POST" else b"")
        try:
            response = await self.crawler.engine.download_async(request)
        except Exception as error:
            return type(error).__name__
        return response.status

    async def scene_persist(self):
        said = []
        for number in range(3):
            for scheme in "http", "https":
                said += [await self.get(f"{scheme}://persist.test/{number}")]
            await asyncio.sleep(1.1 if number == 1 else 0.1)
        return said

    async def scene_forget(self):
        said = []
        for number in range(4):
            for scheme in "http", "https":
                said.append(await self.get(f"{scheme}://forget.test/{number}"))
                if number == 1:
                    self.connections.forget(f"{scheme}://forget.test")
        self.connections.forget("http://never.met.test:8080")
        return said

    async def scene_forget_closes_at_once(self):
        async with RawServer(KEPT) as raw:
            said = await self.get(raw.server + "/")
            self.connections.forget(raw.server)
            await asyncio.wait_for(raw.ended.wait(), 10)
            return said

    async def scene_forget_in_flight(self):
        download = asyncio.ensure_future(self.get("http://slow.test/0"))
        await asyncio.sleep(0.1)
        self.connections.forget("http://slow.test")
        return [await download, await self.get("http://slow.test/1")]

    async def scene_fence(self):
        said = [await self.get("http://fence.test/first")]
        self.leases.lost = True
        said.append(await self.get("http://fence.test/forbidden/cached"))
        said.append(await self.get("http://fence.test/forbidden/new"))
        said.append(await self.get("https://fence.test/forbidden/tls"))
        self.leases.lost = False
        return [*said, await self.get("http://fence.test/last")]

    async def _lost_in_handshake(self, server, **meta):
        port = self.settings.getint("LOCALWEB_HTTPS_PORT")
        async with Relay(port, connect=bool(meta)) as relay:
            if meta:
                meta["proxy"] = f"http://127.0.0.1:{relay.port}"
            download = asyncio.ensure_future(
                self.get(f"{server or f'https://127.0.0.1:{relay.port}'}/forbidden", **meta)
            )
            await asyncio.wait_for(relay.arrived.wait(), 10)
            await asyncio.sleep(0.1)  # time enough for whoever does not wait for the handshake
            self.leases.lost = True
            relay.go.set()
            return await download

    async def scene_lost_in_handshake(self):
        return await self._lost_in_handshake("")

    async def scene_lost_in_handshake_through_proxy(self):
        return await self._lost_in_handshake("https://handshake.test", proxy="")

    async def scene_close(self):
        return [await self.get(f"{scheme}://three.test/{n}") for scheme in ("http", "https") for n in range(4)]

    async def scene_close_without_length(self):
        async with RawServer(KEPT, WITHOUT_LENGTH) as raw:
            return [await self.get(raw.server + "/"), await self.get(raw.server + "/")]

    async def scene_closed_while_idle(self):
        async with RawServer(KEPT) as raw:
            first = await self.get(raw.server + "/")
            raw.writers[0].close()
            await asyncio.sleep(0.2)
            return [first, await self.get(raw.server + "/"), raw.received]

    async def _closed_when_used(self, method="GET", asked=None):
        async with RawServer(KEPT) as raw:
            first = await self.get(raw.server + "/1")
            self.leases.lose_after_asked = asked
            return [first, await self.get(raw.server + "/2", method), raw.received]

    async def scene_sent_again(self):
        return await self._closed_when_used()

    async def scene_head_sent_again(self):
        return await self._closed_when_used("HEAD")

    async def scene_post_not_sent_again(self):
        return await self._closed_when_used("POST")

    async def scene_lost_before_sent_again(self):
        return await self._closed_when_used(asked=1)

    async def scene_cut_here(self):
        def stop(request):
            if request.url.endswith("/stop"):
                raise StopDownload(fail=False)

        self.crawler.signals.connect(stop, signals.bytes_received)
        said = []
        for scheme in "http", "https":
            for path, meta in (("big", {"download_maxsize": 10}), ("hang", {"download_timeout": 0.3}), ("stop", {})):
                said.append(await self.get(f"{scheme}://cut.test/0"))
                said.append(await self.get(f"{scheme}://cut.test/{path}", **meta))
        self.crawler.signals.disconnect(stop, signals.bytes_received)
        return said

    async def scene_cut_there(self):
        return [
            await self.get(f"{scheme}://torn.test/{path}")
            for scheme in ("http", "https")
            for path in ("0", "torn", "0", "reset", "0")
        ]

    async def scene_big_request(self):
        """More than the system takes at once."""
        urls = [f"{scheme}://big.test/{path}" for scheme in ("http", "https") for path in (0, 1)]
        requests = [scrapy.Request(url, method="POST", body=b"x" * 5_000_000) for url in urls]
        return [(await self.crawler.engine.download_async(request)).status for request in requests]

    async def scene_idle_too_long(self):
        await maybe_deferred_to_future(self.connections.closeCachedConnections())
        usual, module.IDLE_SECONDS = module.IDLE_SECONDS, 0.2
        async with RawServer(KEPT) as one, RawServer(KEPT) as other:
            said = [await self.get(one.server + "/")]
            await asyncio.sleep(0.1)
            said.append(await self.get(other.server + "/"))
            for server in one, other:
                await asyncio.wait_for(server.ended.wait(), 10)
        module.IDLE_SECONDS = usual
        return said

    async def scene_proxy(self):
        proxy = f"http://127.0.0.1:{self.settings['LOCALWEB_HTTP_PORT']}"
        said = [await self.get(f"http://{host}/0", proxy=proxy) for host in ("p1.test", "p2.test", "p1.test")]
        self.connections.forget("http://p1.test")
        return [*said, await self.get("http://p2.test/0", proxy=proxy)]

    async def scene_tunnel(self):
        async with Relay(self.settings.getint("LOCALWEB_HTTPS_PORT"), connect=True) as relay:
            relay.go.set()
            proxy = f"http://127.0.0.1:{relay.port}"
            said = [await self.get(f"https://tunnel.test/{n}", proxy=proxy) for n in range(3)]
            self.connections.forget("https://tunnel.test")
            await asyncio.wait_for(relay.ended.wait(), 10)
            return [*said, relay.connections]

    async def scene_zz_left_open(self):
        """The last: what shutdown finds. A TLS connection whose server answers nothing any more would keep a polite farewell waiting."""
        async with RawServer(KEPT) as raw:
            return [await self.get(raw.server + "/"), await self.get("https://left.test/0")]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Scenes of the diary, the access log by host, and the crawl's log."""
    folder = tmp_path_factory.mktemp("connections")
    for host in "persist", "forget", "slow", "fence", "three", "cut", "torn", "big", "p1", "p2", "tunnel", "left":
        write_site(folder / "web", f"{host}.test", {f"/{n}": f"page {n}" for n in range(4)})
    write_site(folder / "web", "cut.test", {"/big": "x" * 1000, "/hang": "page", "/stop": "x" * 300_000})
    write_site(folder / "web", "fence.test", {"/first": "page", "/last": "page"})
    hosts = {
        "three.test": {"max_requests": 3},
        "slow.test": {"latency_ms": 400},
        "cut.test": {"faults": [{"path": "/hang", "kind": "hang"}]},
        "torn.test": {"faults": [{"path": "/torn", "kind": "truncate"}, {"path": "/reset", "kind": "reset"}]},
    }
    with LocalWeb(folder / "web", behaviour={"hosts": hosts}) as web:
        settings = web.settings() | {
            "SCHEDULER": "tests.test_connections.Leases",
            "DOWNLOAD_HANDLERS": HANDLERS,
            "TELNETCONSOLE_ENABLED": False,
            "RETRY_ENABLED": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": 0,
        }
        done = subprocess.run(
            [sys.executable, "-c", RUN, json.dumps(settings)],
            cwd=folder,
            env={"PYTHONPATH": str(PROJECT), "PATH": ""},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        log = web.access_log()
    assert done.returncode == 0, done.stderr
    scenes = [json.loads(line) for line in (folder / "diary.jsonl").read_text().splitlines()]
    return {scene["scene"]: scene for scene in scenes}, log, done.stderr


def said(told, scene):
    return told[0][scene]["said"]


def events(told, scene, kind):
    """What the scheduler was told: the last part of each event of the kind."""
    return [event[2] for event in told[0][scene]["events"] if event[0] == kind]


def connections_of(told, host, scheme="http"):
    """Numbers of the connections that carried the requests to the host, in order."""
    return [record["connection"] for record in told[1] if (record["host"], record["scheme"]) == (host, scheme)]


def test_requests_seconds_apart_share_a_connection(told):
    assert said(told, "persist") == [200] * 6
    for scheme in "http", "https":
        numbers = connections_of(told, "persist.test", scheme)
        assert len(numbers) == 3
        assert len(set(numbers)) == 1


def test_the_scheduler_is_told_of_each_connection_opened_and_how_long_it_took(told):
    connected = [event for event in told[0]["persist"]["events"] if event[0] == "connected"]
    assert [event[1] for event in connected] == ["http://persist.test/0", "https://persist.test/0"]
    assert all(milliseconds > 0 for *_, milliseconds in connected)
    assert not events(told, "persist", "disconnected")


def test_a_forgotten_server_is_met_on_a_new_connection_and_never_on_two(told):
    assert said(told, "forget") == [200] * 8
    for scheme in "http", "https":
        first, second, third, fourth = connections_of(told, "forget.test", scheme)
        assert first == second != third == fourth
    assert {record["open_connections_of_host"] for record in told[1]} == {1}
    assert not events(told, "forget", "disconnected"), "our own closing is not the server's"


def test_an_idle_connection_is_closed_as_soon_as_its_server_is_forgotten(told):
    assert said(told, "forget_closes_at_once") == 200


def test_a_connection_that_is_forgotten_in_use_ends_with_its_answer(told):
    assert said(told, "forget_in_flight") == [200, 200]
    first, second = connections_of(told, "slow.test")
    assert first != second
    assert not events(told, "forget_in_flight", "disconnected")


def test_without_a_lease_nothing_is_sent_on_cached_connections_or_new_ones(told):
    assert said(told, "fence") == [200, "LeaseLost", "LeaseLost", "LeaseLost", 200]
    assert events(told, "fence", "asked") == [True, False, False, False, True]
    assert [record["path"] for record in told[1] if record["host"] == "fence.test"] == ["/first", "/last"]
    first, last = connections_of(told, "fence.test")
    assert first != last, "a refused connection was kept"


@pytest.mark.parametrize("scene", ["lost_in_handshake", "lost_in_handshake_through_proxy"])
def test_a_lease_lost_while_tls_is_being_agreed_on_keeps_the_request_from_being_sent(told, scene):
    assert said(told, scene) == "LeaseLost"
    assert events(told, scene, "asked") == [False]
    assert not [record for record in told[1] if record["path"] == "/forbidden"]


def test_a_lost_lease_makes_no_noise(told):
    assert "Traceback" not in told[2]
    assert " [scrapy.core.scraper] ERROR" not in told[2]
    assert "'connections/lease_lost': 6" in told[2]


def test_a_server_that_ends_connections_is_told_with_what_they_carried(told):
    assert said(told, "close") == [200] * 8
    assert events(told, "close", "disconnected") == [3, 3]
    assert [event[1] for event in told[0]["close"]["events"] if event[0] == "disconnected"] == [
        "http://three.test/2",
        "https://three.test/2",
    ]


def test_the_end_of_a_connection_is_told_before_the_next_is_asked_for(told):
    kinds = [event[0] for event in told[0]["close"]["events"]]
    assert kinds[:6] == ["asked", "connected", "asked", "asked", "disconnected", "asked"]


def test_an_answer_that_ends_with_its_connection_counts_too(told):
    assert said(told, "close_without_length") == [200, 200]
    assert events(told, "close_without_length", "disconnected") == [2]


def test_a_connection_that_the_server_closed_while_idle_is_not_used_again(told):
    assert said(told, "closed_while_idle") == [200, 200, ["GET", "GET"]]
    assert events(told, "closed_while_idle", "disconnected") == [1]
    assert events(told, "closed_while_idle", "asked") == [True, True]


@pytest.mark.parametrize(("scene", "method"), [("sent_again", "GET"), ("head_sent_again", "HEAD")])
def test_a_connection_that_is_closed_as_it_is_used_costs_no_page_and_the_fence_is_asked_again(told, scene, method):
    first, second, received = said(told, scene)
    assert received == ["GET", method, method]
    assert first == second == 200
    assert events(told, scene, "asked") == [True, True, True]
    assert events(told, scene, "disconnected") == [1]


def test_what_is_not_idempotent_is_not_sent_twice(told):
    first, second, received = said(told, "post_not_sent_again")
    assert (first, second) == (200, "DownloadFailedError")
    assert received == ["GET", "POST"]


def test_a_request_is_not_sent_again_once_the_lease_is_lost(told):
    assert said(told, "lost_before_sent_again") == [200, "LeaseLost", ["GET", "GET"]]
    assert events(told, "lost_before_sent_again", "asked") == [True, True, False]


def test_what_is_cut_short_here_is_not_told_and_its_connection_never_meets_the_next(told):
    assert said(told, "cut_here") == [200, "DownloadCancelledError", 200, "DownloadTimeoutError", 200, 200] * 2
    assert not events(told, "cut_here", "disconnected")
    assert len(events(told, "cut_here", "connected")) == 6


def test_an_answer_that_the_server_cuts_short_fails_with_scrapys_own_error(told):
    assert said(told, "cut_there") == [200, "ResponseDataLossError", 200, "DownloadFailedError", 200] * 2


def test_a_request_that_the_system_does_not_take_at_once_is_sent_whole(told):
    assert said(told, "big_request") == [200] * 4
    assert len(events(told, "big_request", "asked")) == 4


def test_connections_that_nobody_uses_any_more_are_closed_each_in_its_time_and_not_told(told):
    assert said(told, "idle_too_long") == [200, 200]
    assert not events(told, "idle_too_long", "disconnected")


def test_a_proxy_is_not_forgotten_with_a_server_behind_it(told):
    assert said(told, "proxy") == [200] * 4
    numbers = connections_of(told, "p1.test") + connections_of(told, "p2.test")
    assert len(set(numbers)) == 1


def test_a_tunnel_through_a_proxy_lasts_until_its_server_is_forgotten(told):
    assert said(told, "tunnel") == [200, 200, 200, 1]
    assert len(set(connections_of(told, "tunnel.test", "https"))) == 1


def test_a_crawl_ends_with_connections_open(told):
    assert said(told, "zz_left_open") == [200, 200]
    assert "Spider closed (finished)" in told[2]


def test_a_whole_crawl_uses_a_connection_for_many_pages_and_never_two_at_a_server(tmp_path, redis_server):
    urls = tree(tmp_path / "web", hosts=3, pages=40)
    own = {"REDIS_URL": redis_server.url, "FRONTIER_CRAWL": "connections", "WALK_FROM": "http://h0.test/0"}
    with LocalWeb(tmp_path / "web") as web:
        stats = crawl(WALKER, tmp_path, HURRY | web.settings() | own)
        log = web.access_log()
    assert sorted(entry["url"] for entry in seen(tmp_path)) == sorted(urls)
    assert {record["open_connections_of_host"] for record in log} == {1}
    assert stats["connections/requests"] == len(log)
    assert stats["connections/opened"] == len({record["connection"] for record in log})
    assert stats["connections/opened"] < len(log) / 2


def test_a_scheduler_that_knows_no_leases_is_neither_asked_nor_told(tmp_path):
    urls = tree(tmp_path / "web", hosts=2, pages=10)
    scrapys_own = {
        "SCHEDULER": "scrapy.core.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
        "CONCURRENT_REQUESTS": 1,  # Scrapy does not keep to its limit per server where several requests come in one turn of the loop
    }
    with LocalWeb(tmp_path / "web") as web:
        stats = crawl(WALKER, tmp_path, HURRY | web.settings() | scrapys_own | {"WALK_FROM": "http://h0.test/0"})
    assert sorted(entry["url"] for entry in seen(tmp_path)) == sorted(urls)
    assert stats["connections/opened"] == 2
    assert "log_count/ERROR" not in stats


def test_the_private_doors_are_where_they_were():
    """What breaks without each: see the messages."""
    source = inspect.getsource(HTTP11DownloadHandler)
    assert "pool=self._pool" in source, "the agents of Scrapy's handler would not use our pool: no fence"
    assert "self._pool.closeCachedConnections()" in source, "open connections would outlive the crawl"
    assert "contextFactory=self._contextFactory" in source, "each TLS connection would make a context of its own again"
    assert issubclass(ConnectionHandler, HTTP11DownloadHandler)
    assert issubclass(Connections, HTTPConnectionPool)
    assert {"dataBuffer", "disconnecting", "connected", "doWrite", "startWriting"} <= set(dir(TCPConnection))
    fresh = _LenientHTTP11ClientProtocol(lambda _: None)
    assert fresh.state == "QUIESCENT", "a connection between requests would not be told from one in use"
    assert {"request", "abort", "connectionLost"} <= set(dir(fresh))
    assert list(inspect.signature(_RetryingHTTP11ClientProtocol).parameters) == ["clientProtocol", "newConnection"], (
        "what a server closed while idle would cost a page"
    )
