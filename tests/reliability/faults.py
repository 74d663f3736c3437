# SPDX-License-Identifier: Apache-2.0
"""R11: faults that a server survives, one function each; the numbers are those of the list that
docs/reliability.md shows."""

import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from board import ROOT, Server, arguments, finish, holdings, is_idle, say, verdict, wait_until
from wire import answer_of, ask, ask_on, http_request, parse_reply, reset, talk

GOOD = {"prompt": "Once upon a time", "max_tokens": 12, "temperature": 0}
LONG = {"prompt": "Once upon a time", "max_tokens": 500, "ignore_eos": True, "stream": True}


class Unavailable(Exception):
    """This machine, or this build, cannot do it; says why."""


def address(server: Server) -> tuple:
    return ("127.0.0.1", server.port)


def good_text(server: Server) -> str:
    reply = ask(address(server), http_request("/v1/completions", GOOD), timeout=60)
    assert reply.status == 200, f"a good request got {reply.status}: {reply.body[:200]}"
    return reply.json["choices"][0]["text"]


class Neighbour:
    """A stream beside the fault; exact afterwards, or the fault was not survived."""

    def __init__(self, server: Server):
        self.body = {**LONG, "max_tokens": 60, "seed": 3}
        self.truth = answer_of(ask(address(server), http_request("/v1/completions", self.body), 60)).text
        self.sock = socket.create_connection(address(server), 60)
        self.sock.sendall(http_request("/v1/completions", self.body))

    def check(self) -> None:
        answer = answer_of(ask_on(self.sock, b""))
        self.sock.close()
        assert answer.is_done and answer.text == self.truth, "a neighbour's answer changed"


def leave(server: Server, body: dict, when) -> None:
    """A reset at a moment that `when(bytes so far)` recognises."""
    neighbour = Neighbour(server)
    sock = socket.create_connection(address(server), 60)
    sock.sendall(http_request("/v1/completions", body))
    received = b""
    while not when(received):
        part = sock.recv(4096)
        if not part:
            break
        received += part
    reset(sock)
    neighbour.check()
    assert wait_until(lambda: is_idle(server.process.pid, 0.1), 10), "it computes for nobody"


def reset_in_queue(binary: str) -> None:
    with Server(binary, "--max-num-seqs", 1) as server:
        leave(server, LONG, lambda received: True)


def reset_in_prefill(binary: str) -> None:
    with Server(binary) as server:
        leave(server, {**LONG, "prompt": "Once upon a time there was a dog. " * 80}, lambda received: True)


def reset_in_decode(binary: str) -> None:
    with Server(binary) as server:
        leave(server, LONG, lambda received: received.count(b"data: ") > 3)


def reset_after_last_token(binary: str) -> None:
    with Server(binary) as server:
        leave(server, {**LONG, "max_tokens": 3}, lambda received: b"[DONE]" in received)


def half_close(binary: str) -> None:
    with Server(binary) as server:
        for stream in (False, True):
            data = http_request("/v1/completions", {**GOOD, "stream": stream}, headers={"Connection": "close"})
            reply, _ = parse_reply(talk(address(server), data, timeout=30, half_close=True))
            assert reply.status == 200 and answer_of(reply).is_done


def reader_stops(binary: str) -> None:
    with Server(binary, "--send-buffer", 16384, "--write-timeout", 1.5) as server:
        good_text(server)
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(address(server))
        before = holdings(server.process.pid).rss
        sock.sendall(http_request("/v1/completions", {**LONG, "max_tokens": 900, "logprobs": 20}))
        assert wait_until(lambda: is_idle(server.process.pid, 0.2), 20), "it is not paused"
        good_text(server)
        fds = holdings(server.process.pid).fds
        assert wait_until(lambda: holdings(server.process.pid).fds < fds, 20), "it is not cut off"
        assert holdings(server.process.pid).rss - before < 16 << 20, "it keeps what nobody reads"
        sock.close()


def header_trickle(binary: str) -> None:
    with Server(binary, "--header-timeout", 1) as server:
        with socket.create_connection(address(server), 10) as sock:
            sock.sendall(b"GET /livez HTTP/1.1\r\nX-Slow: ")
            assert sock.recv(12) == b"HTTP/1.1 408"
        good_text(server)


def body_trickle(binary: str) -> None:
    with Server(binary, "--body-grace", 0.5, "--max-body-bytes", 100_000) as server:
        head = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\n"
        with socket.create_connection(address(server), 10) as sock:
            sock.sendall(head + b"Content-Length: 50000\r\n\r\n{")
            assert sock.recv(12) == b"HTTP/1.1 408"
        endless = head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b" " * 4096 + b"\r\n"
        with socket.create_connection(address(server), 10) as sock:
            sock.sendall(endless)
            try:
                for _ in range(100):
                    sock.sendall(b"1000\r\n" + b" " * 4096 + b"\r\n")
            except OSError:
                pass
            assert sock.recv(12) == b"HTTP/1.1 413"
        with socket.create_connection(address(server), 10) as sock:
            sock.sendall(head + b"Content-Length: 100001\r\n\r\n")
            assert sock.recv(12) == b"HTTP/1.1 413"
        good_text(server)


def no_more_descriptors(binary: str) -> None:
    with Server(binary, "--keep-alive", 60) as server:
        pid = server.process.pid
        known = socket.create_connection(address(server), 10)
        assert ask_on(known, http_request("/livez")).status == 200
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (holdings(pid).fds + 4, hard))
        crowd = [socket.create_connection(address(server), 10) for _ in range(30)]
        time.sleep(0.5)
        assert ask_on(known, http_request("/livez")).status == 200, "health is silent"
        assert ask_on(known, http_request("/v1/completions", GOOD)).status == 200
        before = holdings(pid).cpu
        time.sleep(0.5)
        assert holdings(pid).cpu - before < 0.3, "it turns in circles"
        for sock in crowd:
            sock.close()
        good_text(server)  # it has recovered
        known.close()


def no_more_threads(binary: str) -> None:
    """No request needs a new thread: there are as many as at the start."""
    with Server(binary) as server:
        before = holdings(server.process.pid).threads
        threads = [threading.Thread(target=good_text, args=(server,)) for _ in range(20)]
        for thread in threads:
            thread.start()
        most = 0
        while any(thread.is_alive() for thread in threads):
            most = max(most, holdings(server.process.pid).threads)
            time.sleep(0.005)
        assert most == before, f"{before} threads became {most}"


def memory_pressure(binary: str) -> None:
    """Many of the largest bodies at once, and a bound on memory: it refuses some, and lives."""
    with Server(binary, "--kv-cache-memory", "32MB", "--max-bodies-bytes", 20_000_000) as server:
        pid, truth = server.process.pid, good_text(server)
        size = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.prlimit(pid, resource.RLIMIT_AS, (size + (768 << 20), resource.RLIM_INFINITY))
        body = b'{"prompt": "' + b"a " * 1_900_000 + b'"}'
        statuses = []

        def press() -> None:
            try:
                statuses.append(ask(address(server), http_request("/tokenize", body), timeout=60).status)
            except OSError:
                statuses.append(0)

        threads = [threading.Thread(target=press) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.process.poll() is None, f"it ended with {server.process.poll()}: {server.log[-300:]}"
        assert set(statuses) <= {200, 429}, f"statuses {sorted(set(statuses))}"
        assert good_text(server) == truth
        say(f"    {statuses.count(200)} served, {statuses.count(429)} refused")


def with_fault(binary: str, fault: str, *flags) -> Server:
    server = Server(binary, *flags, env={"INGOT_FAULT": fault})
    if b"INGOT_FAULT" not in Path(binary).read_bytes():
        server.stop()
        raise Unavailable("this build knows no INGOT_FAULT")
    return server


def step_fails(binary: str) -> None:
    with with_fault(binary, "step:fail@4") as server:
        reply = ask(address(server), http_request("/v1/completions", GOOD), timeout=60)
        assert reply.status == 500 and reply.json["error"]["message"], reply.status
        good_text(server)
    with with_fault(binary, "step:fail@4") as server:
        reply = ask(address(server), http_request("/v1/completions", {**GOOD, "stream": True}), timeout=60)
        assert reply.is_complete and answer_of(reply).error, "a stream ends without a word"
        good_text(server)


def logits_nan(binary: str) -> None:
    with Server(binary) as server:
        truth = good_text(server)
    with with_fault(binary, "logits:nan@4") as server:
        reply = ask(address(server), http_request("/v1/completions", GOOD), timeout=60)
        assert reply.status >= 500 and reply.json["error"]["message"], reply.status
        assert good_text(server) == truth


def model_file(binary: str) -> tuple[Path, tempfile.TemporaryDirectory]:
    source = ROOT / "models" / "default.gguf"
    if not source.exists():
        raise Unavailable("models/default.gguf is not there")
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "model.gguf"
    shutil.copyfile(source, path)
    return path, folder


def model_replaced(binary: str) -> None:
    path, folder = model_file(binary)
    with folder, Server(binary, model=str(path)) as server:
        truth = good_text(server)
        other = path.with_name("other.gguf")
        other.write_bytes(random.Random(1).randbytes(path.stat().st_size))
        other.rename(path)
        assert good_text(server) == truth


def model_truncated(binary: str) -> None:
    """A clear error or no effect; never garbage, never a death without a word."""
    path, folder = model_file(binary)
    with folder, Server(binary, model=str(path)) as server:
        truth = good_text(server)
        os.truncate(path, 4096)
        for stream in (False, True):
            reply = ask(address(server), http_request("/v1/completions", {**GOOD, "stream": stream}), timeout=60)
            answer = answer_of(reply)
            assert answer.error or answer.text == truth, "it answers garbage"
            assert answer.error is None or stream or reply.status >= 500, "it blames the client"
            assert folder.name.encode() not in reply.body, "it tells where the file is"


def server_killed(binary: str) -> None:
    with Server(binary) as server:
        sock = socket.create_connection(address(server), 10)
        sock.sendall(http_request("/v1/completions", LONG))
        assert sock.recv(1)
        server.process.kill()
        server.process.wait()
        start = time.monotonic()
        with Server(binary, "--port", server.port) as again:
            good_text(again)
        say(f"    ready again after {time.monotonic() - start:.1f} s")


def signals(binary: str) -> None:
    with Server(binary) as server:
        for number in (signal.SIGPIPE, signal.SIGHUP):
            server.process.send_signal(number)
            time.sleep(0.05)
            good_text(server)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        server.process.send_signal(signal.SIGCONT)
        good_text(server)
        assert server.stop() == 0


def no_network(binary: str) -> None:
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        raise Unavailable("namespaces may not be made here")
    with tempfile.TemporaryDirectory() as folder:
        wrapper, path = Path(folder) / "ingot", str(Path(folder) / "socket")
        wrapper.write_text(f'#!/bin/sh\nexec unshare -n "{binary}" "$@"\n')
        wrapper.chmod(0o755)
        with Server(str(wrapper), "--uds", path):
            reply = ask(path, http_request("/v1/completions", GOOD), timeout=60)
            assert reply.status == 200


FAULTS = [(1, reset_in_queue), (2, reset_in_prefill), (3, reset_in_decode), (4, reset_after_last_token),
          (5, half_close), (6, reader_stops), (7, header_trickle), (8, body_trickle),
          (9, no_more_descriptors), (10, no_more_threads), (12, memory_pressure), (14, step_fails),
          (16, logits_nan), (19, model_replaced), (19, model_truncated), (22, server_killed),
          (23, signals), (24, no_network)]


def main() -> None:
    options = arguments(__doc__, only=(0, "the number of one fault"))
    survived, unavailable, failed = 0, 0, 0
    for number, fault in FAULTS:
        if options.only not in (0, number):
            continue
        start = time.monotonic()
        try:
            fault(options.binary)
            outcome, survived = "survived", survived + 1
        except Unavailable as reason:
            outcome, unavailable = f"cannot be tried: {reason}", unavailable + 1
        except (AssertionError, OSError, RuntimeError, subprocess.TimeoutExpired) as problem:
            outcome, failed = f"FAILED: {problem}", failed + 1
        say(f"{number:>4} {fault.__name__}: {outcome} ({time.monotonic() - start:.1f} s)")
    finish(verdict("R11", survived, f"faults-survived-of-{survived + failed}", failed == 0 and survived > 0))


if __name__ == "__main__":
    main()
