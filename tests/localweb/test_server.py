"""The local web server over real sockets."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.localweb.behaviour import Behaviour
from tests.localweb.web import PROJECT, LocalWeb, write_site

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = "<title>A page</title>" + "word " * 2000

PLAN = {
    "default": {"max_requests": 0},
    "hosts": {
        "slow.test": {"latency_ms": 150},
        "tired.test": {"max_requests": 2},
        "robots.test": {"robots": "User-agent: *\nDisallow: /private/\n"},
        "gbk.test": {"charset": "gbk"},
        "zip.test": {"gzip": True},
        "bad.test": {
            "faults": [
                {"path": "/503", "kind": "status", "status": 503, "times": 2, "headers": {"Retry-After": "7"}},
                {"path": "/reset", "kind": "reset"},
                {"path": "/hang", "kind": "hang"},
                {"path": "/slow", "kind": "slow", "seconds": 0.3},
                {"path": "/cut", "kind": "truncate"},
                {"path": "/loop*", "kind": "redirect"},
                {"path": "/zip", "kind": "gzip"},
                {"path": "/latin", "kind": "charset", "charset": "latin-1"},
            ]
        },
    },
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWeb]:
    folder = tmp_path_factory.mktemp("web")
    for host in ("a.test", "b.test", "slow.test", "tired.test", "robots.test", "gbk.test", "zip.test"):
        write_site(folder, host, {"/": f"<title>{host}</title>", "/dir/": "inside", "/page.html": PAGE})
    write_site(
        folder, "a.test", {"/robots.txt": "User-agent: *\nCrawl-delay: 1\n", "/a b/ü.html": "named", "/x.pdf": b"%PDF"}
    )
    write_site(
        folder, "bad.test", {f"/{name}": PAGE for name in ("503", "reset", "hang", "slow", "cut", "zip", "latin")}
    )
    with LocalWeb(folder, behaviour=PLAN) as web:
        yield web


class Client:
    """A kept-alive connection to the local web."""

    def __init__(self, web: LocalWeb, scheme: str = "http") -> None:
        if scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.raw: http.client.HTTPConnection = http.client.HTTPSConnection(
                "127.0.0.1", web.https_port, timeout=10, context=context
            )
        else:
            self.raw = http.client.HTTPConnection("127.0.0.1", web.http_port, timeout=10)

    def get(
        self,
        host: str,
        path: str,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        self.raw.request(method, path, body=body, headers={"Host": host, **(headers or {})})
        response = self.raw.getresponse()
        return response, response.read()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_host_names_have_their_own_pages_on_one_port(web: LocalWeb, scheme: str) -> None:
    client = Client(web, scheme)
    assert client.get("a.test", "/")[1] == b"<title>a.test</title>"
    assert client.get("B.test:8080", "/")[1] == b"<title>b.test</title>"
    assert {(r["scheme"], r["port"]) for r in web.access_log() if r["host"] == "b.test"} >= {(scheme, 8080)}


def test_unknown_host_is_502_and_unknown_path_404(web: LocalWeb) -> None:
    client = Client(web)
    assert client.get("nowhere.test", "/")[0].status == 502
    assert client.get("a.test", "/nothing")[0].status == 404
    assert client.get("b.test", "/robots.txt")[0].status == 404


def test_directories_answer_with_their_index_after_a_slash(web: LocalWeb) -> None:
    client = Client(web)
    response, _ = client.get("a.test", "/dir")
    assert (response.status, response.headers["Location"]) == (301, "/dir/")
    assert client.get("a.test", "/dir/?query")[1] == b"inside"


def test_names_are_percent_decoded_and_never_leave_the_folder(web: LocalWeb) -> None:
    client = Client(web)
    assert client.get("a.test", "/a%20b/%C3%BC.html")[1] == b"named"
    for path in (
        "/../b.test/page.html",
        "/%2e%2e/b.test/page.html",
        "/..%2fb.test/page.html",
        "/%00",
        "/" + "x" * 5000,
    ):
        assert client.get("a.test", path)[0].status == 404, path
    assert client.get("..", "/")[0].status == 502


def test_media_types_follow_the_file_and_name_no_charset(web: LocalWeb) -> None:
    client = Client(web)
    assert client.get("a.test", "/page.html")[0].headers["Content-Type"] == "text/html"
    assert client.get("a.test", "/x.pdf")[0].headers["Content-Type"] == "application/pdf"
    assert client.get("gbk.test", "/")[0].headers["Content-Type"] == "text/html; charset=gbk"


def test_robots_come_from_the_file_or_the_behaviour(web: LocalWeb) -> None:
    client = Client(web)
    assert b"Crawl-delay" in client.get("a.test", "/robots.txt")[1]
    assert b"/private/" in client.get("robots.test", "/robots.txt")[1]


def test_head_and_post_keep_the_connection_in_step(web: LocalWeb) -> None:
    client = Client(web)
    response, body = client.get("a.test", "/page.html", method="HEAD")
    assert (body, response.headers["Content-Length"]) == (b"", str(len(PAGE)))
    assert client.get("a.test", "/page.html", method="POST", body=b"x" * 100_000)[1] == PAGE.encode()


def test_connection_closes_after_its_last_allowed_request(web: LocalWeb) -> None:
    client = Client(web)
    assert client.get("tired.test", "/")[0].headers["Connection"] == "keep-alive"
    assert client.get("tired.test", "/")[0].headers["Connection"] == "close"
    assert client.get("tired.test", "/")[0].status == 200  # the client has connected again
    assert len({r["connection"] for r in web.access_log() if r["host"] == "tired.test"}) == 2


def test_latency_is_waited_out_and_logged(web: LocalWeb) -> None:
    began = time.time() * 1000
    Client(web).get("slow.test", "/")
    (record,) = [r for r in web.access_log() if r["host"] == "slow.test"]
    assert record["end_ms"] - record["start_ms"] >= 150
    assert began - 5 <= record["start_ms"] <= record["end_ms"] <= time.time() * 1000 + 5


def test_status_fault_happens_as_often_as_it_should(web: LocalWeb) -> None:
    client = Client(web)
    answers = [client.get("bad.test", "/503")[0] for _ in range(3)]
    assert [answer.status for answer in answers] == [503, 503, 200]
    assert answers[0].headers["Retry-After"] == "7"


def test_reset_fault_breaks_the_connection(web: LocalWeb) -> None:
    with pytest.raises(ConnectionResetError):
        Client(web).get("bad.test", "/reset")
    assert [r["status"] for r in web.access_log() if r["path"] == "/reset"] == [0]


def test_hang_fault_says_nothing_until_the_client_leaves(web: LocalWeb) -> None:
    client = Client(web)
    client.raw.timeout = 0.2
    with pytest.raises(TimeoutError):
        client.get("bad.test", "/hang")
    client.raw.close()
    records: list[dict[str, object]] = []
    deadline = time.monotonic() + 5
    while not records and time.monotonic() < deadline:
        records = [r for r in web.access_log() if r["path"] == "/hang"]
    assert records[0]["status"] == 0


def test_slow_fault_dribbles_the_whole_body(web: LocalWeb) -> None:
    began = time.monotonic()
    assert Client(web).get("bad.test", "/slow")[1] == PAGE.encode()
    assert time.monotonic() - began >= 0.3


def test_truncate_fault_breaks_the_promise_of_content_length(web: LocalWeb) -> None:
    with pytest.raises(http.client.IncompleteRead):
        Client(web).get("bad.test", "/cut")
    assert [r["bytes"] for r in web.access_log() if r["path"] == "/cut"] == [len(PAGE) // 2]


def test_redirect_fault_without_location_is_a_loop(web: LocalWeb) -> None:
    response, _ = Client(web).get("bad.test", "/loop/1?x=1")
    assert (response.status, response.headers["Location"]) == (302, "/loop/1?x=1")


def test_pages_are_compressed_for_those_who_ask_or_by_fault(web: LocalWeb) -> None:
    client = Client(web)
    assert client.get("zip.test", "/page.html")[1] == PAGE.encode()
    response, body = client.get("zip.test", "/page.html", headers={"Accept-Encoding": "gzip, br"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == gzip.decompress(client.get("bad.test", "/zip")[1]) == PAGE.encode()
    assert client.get("bad.test", "/latin")[0].headers["Content-Type"] == "text/html; charset=latin-1"


def test_open_connections_are_counted_per_server(web: LocalWeb) -> None:
    first, second, other = Client(web), Client(web), Client(web)
    first.get("a.test:81", "/")
    other.get("a.test:82", "/")
    second.get("a.test:81", "/")
    first.raw.close()
    second.get("a.test:81", "/")
    counts = [(r["port"], r["open_connections_of_host"]) for r in web.access_log() if r["port"] in (81, 82)]
    assert counts == [(81, 1), (82, 1), (81, 2), (81, 1)]


def test_log_has_every_answer_that_a_client_has(web: LocalWeb) -> None:
    client = Client(web)
    for number in range(50):
        client.get("b.test", f"/page.html?{number}")
        assert web.access_log()[-1]["path"] == f"/page.html?{number}"
    starts = [r["start_ms"] for r in web.access_log() if r["path"].startswith("/page.html?")]
    assert starts == sorted(starts)


def test_nonsense_is_answered_with_400_and_the_server_lives(web: LocalWeb) -> None:
    for nonsense in (b"hello\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET nowhere HTTP/1.1\r\nHost: a.test\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", web.http_port), timeout=5) as connection:
            connection.sendall(nonsense)
            assert connection.recv(100).startswith(b"HTTP/1.1 400"), nonsense
    assert Client(web).get("a.test", "/")[0].status == 200


def test_certificate_names_the_host_that_was_asked_for(web: LocalWeb) -> None:
    from cryptography import x509

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for host in ("a.test", "b.test"):
        with (
            socket.create_connection(("127.0.0.1", web.https_port), timeout=5) as raw,
            context.wrap_socket(raw, server_hostname=host) as connection,
        ):
            certificate = x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == [host]


def test_tables_give_media_types_and_redirects(tmp_path: Path) -> None:
    folder, tables = tmp_path / "pages", tmp_path / "tables"
    write_site(folder, "docs.test", {"/en/index.html": "home", "/en/odd": "odd"})
    tables.mkdir()
    (tables / "pages.tsv").write_text(
        "docs.test/en/index.html\tdocs.test/en/index.html\ttext/html\tutf-8\ten\t4\n"
        "docs.test/feed\tdocs.test/en/odd\tapplication/xml\tutf-8\ten\t3\n"
        "gone.test/\tgone.test/index.html\ttext/html\tutf-8\ten\t3\n"
    )
    (tables / "redirects.tsv").write_text("docs.test/latest/\tdocs.test/en/index.html\n")
    with LocalWeb(folder, tables=tables) as web:
        client = Client(web)
        assert client.get("docs.test", "/en/")[1] == b"home"
        assert client.get("docs.test", "/feed")[0].headers["Content-Type"] == "application/xml"
        response, _ = client.get("docs.test", "/latest/")
        assert (response.status, response.headers["Location"]) == (301, "http://docs.test/en/index.html")
        assert client.get("gone.test", "/")[0].status == 404
        assert client.get("other.test", "/")[0].status == 502


def test_development_web_is_served_under_its_true_names(tmp_path: Path) -> None:
    shared = Path(os.environ.get("TOPICSPIDER_SHARED", PROJECT.parent / "shared")) / "web"
    if not (shared / "unpack").is_file():
        pytest.skip(f"the development web is not here: {shared}")
    subprocess.run([shared / "unpack", tmp_path, "21", "21"], check=True)
    with (shared / "pages.tsv").open(encoding="utf-8", errors="surrogateescape") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    rows = [row for row in rows if (tmp_path / row[1]).is_file()]
    assert len(rows) > 100
    with LocalWeb(tmp_path, tables=shared) as web:
        client = Client(web)
        for url, _, media_type, _, _, size in rows:
            host, _, path = url.partition("/")
            response, body = client.get(host, f"/{path}")
            assert (response.status, response.headers["Content-Type"], len(body)) == (200, media_type, int(size)), url


def test_changed_file_is_served_anew_and_first_folder_wins(tmp_path: Path) -> None:
    write_site(tmp_path / "one", "a.test", {"/": "first"})
    write_site(tmp_path / "two", "a.test", {"/": "second", "/only.html": "here"})
    with LocalWeb(tmp_path / "one", tmp_path / "two") as web:
        client = Client(web)
        assert client.get("a.test", "/")[1] == b"first"
        assert client.get("a.test", "/only.html")[1] == b"here"
        write_site(tmp_path / "one", "a.test", {"/": "changed"})
        assert client.get("a.test", "/")[1] == b"changed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_stops_cleanly_with_connections_open(tmp_path: Path, number: signal.Signals) -> None:
    write_site(tmp_path, "a.test", {"/": "home"})
    ready, log = tmp_path / "ready.json", tmp_path / "log.jsonl"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.localweb",
            "serve",
            tmp_path,
            "--ready-file",
            ready,
            "--log",
            log,
            "--behaviour",
            "/dev/stdin",
        ],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({"default": {"faults": [{"path": "/hang", "kind": "hang"}]}}).encode())
    process.stdin.close()
    while not ready.exists():
        assert process.poll() is None
        time.sleep(0.01)
    port = json.loads(ready.read_text())["http_port"]
    with (
        socket.create_connection(("127.0.0.1", port)) as waiting,
        socket.create_connection(("127.0.0.1", port)) as idle,
    ):
        waiting.sendall(b"GET /hang HTTP/1.1\r\nHost: a.test\r\n\r\n")
        idle.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        assert idle.recv(1000).endswith(b"home")
        process.send_signal(number)
        assert process.wait(5) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.stdout is not None
    process.stdout.close()
    assert {json.loads(line)["path"] for line in log.read_text().splitlines()} == {"/", "/hang"}


def test_server_ends_when_whoever_started_it_is_gone(tmp_path: Path) -> None:
    with LocalWeb(tmp_path) as web:
        process = web._process
        assert process is not None
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(5) == 0


def test_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with LocalWeb(tmp_path) as web:
        command = [sys.executable, "-m", "tests.localweb", "serve", str(tmp_path), "--http-port", str(web.http_port)]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("The local web cannot be served")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"hosts": {"a.test": {"speed": 1}}}, "latency_ms"),
        ({"default": {"faults": [{"path": "/", "kind": "explode"}]}}, "reset, hang"),
        ({"servers": {}}, "default, hosts"),
        ({"default": {"faults": [{"path": "/", "kind": "hang", "often": 1}]}}, "times"),
    ],
)
def test_mistaken_behaviour_lists_what_is_known(plan: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Behaviour(plan)


def test_server_is_fast_enough_to_measure_crawlers(tmp_path: Path) -> None:
    # Far below what it does alone (several thousand a second), so that a busy machine does not fail the test.
    write_site(tmp_path, "a.test", {"/": "x" * 40_000})
    with LocalWeb(tmp_path) as web:

        def fetch() -> None:
            client = Client(web)
            for _ in range(100):
                client.get("a.test", "/")

        threads = [threading.Thread(target=fetch) for _ in range(4)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 400 / (time.monotonic() - began) > 200
        assert len(web.access_log()) == 400


def raw(web: LocalWeb, request: bytes) -> bytes:
    """All that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", web.http_port), timeout=5) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


def test_an_address_within_a_path_is_part_of_the_path(web: LocalWeb) -> None:
    answer = raw(web, b"GET /kept/2022/http://b.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 404 ")


def test_what_is_no_request_gets_a_whole_answer(web: LocalWeb) -> None:
    head, _, body = raw(web, b"GET nothing HTTP/1.1\r\nHost: a.test\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert f"Content-Length: {len(body)}\r\n".encode() in head
    assert body
